"""What MLflow is given of a results folder; only `evaluation.tracking` speaks to MLflow itself."""
