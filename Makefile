# make eval: set up and compare the core strategies on the bundled corpus.   make test: set up and run every check.
# LIGHT=1 leaves torch out: the neural arms are then listed as absent with the remedy.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ifdef LIGHT
EVAL_EXTRAS := [qdrant]
TEST_EXTRAS := [qdrant,lance,corpus,sweep,llm,dev]
MARK := -light
else
EVAL_EXTRAS := [neural,weights,qdrant]
TEST_EXTRAS := [neural,weights,openvino,qdrant,lance,corpus,sweep,llm,dev]
endif
INSTALL = $(BIN)/python -m pip install --quiet --constraint constraints.txt --editable

.PHONY: eval test check ui qdrant corpus benchmarks nightly clean
.DEFAULT_GOAL := help

help:
	@sed -n 's/^# \(make\|LIGHT\)/\1/p' Makefile
	@echo "make ui: open the MLflow UI.   make qdrant: start a Qdrant server (Docker).   make corpus: rebuild the bundled papers.   make benchmarks: speed ratios.   make nightly: the regression gate."

eval: $(VENV)/.eval$(MARK)
	$(BIN)/python run_eval.py suite=core allow_missing=true

test: $(VENV)/.test$(MARK)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python corpus/build.py --check
	$(BIN)/python -m pytest -n auto --dist loadfile

ui: $(VENV)/.eval$(MARK)
	$(BIN)/mlflow ui --backend-store-uri sqlite:///results/mlflow.db

qdrant:
	docker compose up -d qdrant
	@echo "search it with strategy=qdrant strategy.first.url=http://localhost:6333"

corpus: $(VENV)/.test$(MARK)
	$(BIN)/python corpus/build.py
	$(BIN)/python -m evaluation.offsets

benchmarks: $(VENV)/.test$(MARK)
	for file in $(filter-out benchmarks/collections.py,$(wildcard benchmarks/*.py)); do $(BIN)/python $$file || exit 1; done

nightly: $(VENV)/.eval$(MARK)
	$(BIN)/python run_eval.py --config-name nightly

clean:
	rm -rf $(VENV) corpus/.artifacts

# One environment serves both: what `make test` installed is enough for `make eval`.
$(VENV)/.eval$(MARK): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) (a few minutes the first time)"
	$(INSTALL) ".$(EVAL_EXTRAS)"
	@touch $@

$(VENV)/.test$(MARK): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) (a few minutes the first time)"
	$(INSTALL) ".$(TEST_EXTRAS)"
	@touch $@ $(VENV)/.eval$(MARK)
