"use strict";
// Text from data reaches the page through textContent only.
(() => {
  const $ = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const make = (tag, css = "", text = "") => {
    const node = document.createElement(tag);
    if (css) node.className = css;
    if (text !== "") node.textContent = text;
    return node;
  };

  // ---- sections, tooltips, tables that sort
  const nav = $("#nav");
  for (const section of all("main > section")) {
    const link = make("a", "", section.id[0].toUpperCase() + section.id.slice(1));
    link.href = "#" + section.id;
    nav.append(link);
  }

  const tip = $("#tip");
  const MARK = '.role-mark [aria-label]';
  document.addEventListener("pointermove", (event) => {
    const mark = event.target.closest ? event.target.closest(MARK) : null;
    tip.hidden = !mark;
    if (!mark) return;
    const text = mark.getAttribute("aria-label");
    if (tip.dataset.text !== text) {
      tip.dataset.text = text;
      tip.replaceChildren(...text.split("; ").map((line) => make("div", "", line)));
    }
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8)) + "px";
    tip.style.top = (event.clientY + 18 + height > innerHeight ? event.clientY - height - 12 : event.clientY + 18) + "px";
  });

  const number = (text) => parseFloat(text.replace("−", "-"));
  const compare = (x, y) => {
    const [a, b] = [number(x), number(y)];
    if (Number.isNaN(a) || Number.isNaN(b)) {
      if (Number.isNaN(a) && Number.isNaN(b)) return x < y ? -1 : x > y ? 1 : 0;
      return Number.isNaN(a) ? 1 : -1;
    }
    return a - b;
  };
  const turn = (head) => {
    const down = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") === "ascending" : head.classList.contains("number");
    for (const other of all("th", head.parentNode)) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    return down ? -1 : 1;
  };
  for (const table of all("table.sortable")) {
    for (const head of all("thead th", table)) {
      $("button", head).addEventListener("click", () => {
        const sign = turn(head), at = head.cellIndex, body = table.tBodies[0];
        const rows = [...body.rows].map((row) => [row.cells[at].textContent, row]);
        rows.sort((x, y) => (x[0] === "-" ? 1 : y[0] === "-" ? -1 : sign * compare(x[0], y[0])));
        body.append(...rows.map((row) => row[1]));
      });
    }
  }

  const metric = $("#metric");
  if (metric) {
    metric.addEventListener("change", () => {
      for (const figure of all("#leaderboards > figure")) figure.hidden = figure.dataset.chart !== metric.value;
    });
  }

  // ---- question by question
  const data = JSON.parse($("#data").textContent);
  if (!$("#tools") || !data.questions.length) return;
  const MOST = 500;
  const ui = Object.fromEntries(["a", "b", "by", "kind", "find", "differ"].map((name) => [name, $("#" + name)]));
  const fill = (select, names) => names.forEach((name, at) => {
    const option = make("option", "", name);
    option.value = at;
    select.append(option);
  });
  fill(ui.a, data.strategies);
  fill(ui.b, data.strategies);
  fill(ui.by, data.metrics);
  const kinds = [...new Set(data.questions.map((question) => question[2]))].sort();
  fill(ui.kind, ["all", ...kinds]);
  if (kinds.length < 2) {
    ui.kind.parentNode.hidden = true;
    $("#per-query").classList.add("one-kind");
  }
  [ui.a.value, ui.b.value] = data.first;
  $("#tools").hidden = false;

  const texts = data.questions.map((question) => (question[0] + " " + question[1]).toLowerCase());
  const state = { sort: "size", sign: -1, open: null };  // size: the largest differences first, either way
  const shown3 = (value) => (value === data.none ? "–" : (value / data.scale).toFixed(3));
  const signed = (value) => (value > 0 ? "+" : value < 0 ? "−" : "") + (Math.abs(value) / data.scale).toFixed(3);

  const rowsNow = () => {
    const of = data.values[ui.by.value], a = of[ui.a.value], b = of[ui.b.value];
    const words = ui.find.value.trim().toLowerCase();
    const kind = ui.kind.value === "0" ? null : kinds[ui.kind.value - 1];
    const rows = [];
    for (let at = 0; at < texts.length; at++) {
      if (kind !== null && data.questions[at][2] !== kind) continue;
      if (words && !texts[at].includes(words)) continue;
      const both = a[at] !== data.none && b[at] !== data.none;
      const diff = both ? a[at] - b[at] : null;
      if (ui.differ.checked && !diff) continue;
      const size = both ? Math.abs(diff) : null;
      rows.push({ at, a: a[at], b: b[at], diff, size, question: data.questions[at][0], kind: data.questions[at][2] });
    }
    const { sort, sign } = state;
    return rows.sort((x, y) => {
      if (x[sort] === null || y[sort] === null) return (x[sort] === null) - (y[sort] === null) || x.at - y.at;
      return (x[sort] < y[sort] ? -sign : x[sort] > y[sort] ? sign : 0) || x.at - y.at;
    });
  };

  const bar = (diff, most) => {
    const out = make("span", "bar"), inner = make("i", diff > 0 ? "plus" : "minus");
    inner.style.width = (50 * Math.abs(diff)) / (most || 1) + "%";
    out.append(inner);
    return out;
  };

  const rowOf = (row, most) => {
    const tr = make("tr", "row"), first = make("td", "word"), button = make("button");
    button.type = "button";
    button.setAttribute("aria-expanded", "false");
    button.append(make("span", "qid", data.questions[row.at][0]), data.questions[row.at][1]);
    first.append(button);
    const last = make("td", "number", row.diff === null ? "–" : signed(row.diff));
    if (row.diff !== null) last.append(bar(row.diff, most));
    tr.append(first, make("td", "word", row.kind), make("td", "number", shown3(row.a)), make("td", "number", shown3(row.b)), last);
    tr.dataset.at = row.at;
    return tr;
  };

  const body = $("#per-query tbody");
  const update = () => {
    const rows = rowsNow();
    const most = rows.reduce((found, row) => Math.max(found, Math.abs(row.diff || 0)), 0);
    state.open = null;
    body.replaceChildren(...rows.slice(0, MOST).map((row) => rowOf(row, most)));
    const both = rows.filter((row) => row.diff !== null), n = both.length;
    const mean = (key) => both.reduce((sum, row) => sum + row[key], 0) / (n || 1);
    const count = (test) => both.filter((row) => test(row.diff)).length;
    $("#totals").textContent = !n
      ? `${rows.length} of ${texts.length} questions; none has a value of both`
      : `${rows.length} of ${texts.length} questions; mean of A ${shown3(mean("a"))}, of B ${shown3(mean("b"))}, ` +
        `A − B ${signed(mean("diff"))}; A better on ${count((d) => d > 0)}, equal on ${count((d) => d === 0)}, ` +
        `worse on ${count((d) => d < 0)}`;
    $("#more").hidden = rows.length <= MOST;
    $("#more").textContent = `the first ${MOST} of ${rows.length} are listed; search or filter for the others`;
  };

  // ---- both rankings of one question
  const STOP = new Set((
    "a also an and are as at be been but by can did do does for from had has have how i if in into is it its " +
    "may more most no not of on or our so such than that the their them then there these they this those to us was we were what when where which who why will with would you"
  ).split(" "));
  const stem = (word) => (word.length > 4 ? word.replace(/(ies|ing|ed|es|s)$/u, "") : word);
  const WORD = /[\p{L}\p{N}]+/gu;
  const asked = (question) =>
    new Set((question.toLowerCase().match(WORD) || []).filter((word) => !STOP.has(word)).map(stem));
  const marked = (text, words) => {
    const out = make("p");
    let from = 0;
    for (const found of text.matchAll(WORD)) {
      if (!words.has(stem(found[0].toLowerCase()))) continue;
      out.append(text.slice(from, found.index), make("mark", "", found[0]));
      from = found.index + found[0].length;
    }
    out.append(text.slice(from));
    return out;
  };

  const FATE = 5; // numbers to a piece of evidence
  const fateText = ([grade, stage, path, best, final]) => {
    const name = `evidence of grade ${grade}: `, label = data.stages[stage];
    if (label === "found") return name + `found at rank ${final}`;
    const where = data.paths[path] ? ` (${data.paths[path]})` : "";
    if (final) return name + `${label}${where}, final rank ${final}`;
    return name + `lost: ${label}${where}` + (best ? `, best rank before ${best}` : "");
  };

  const side = (label, arm, other, at, words) => {
    const out = make("div");
    out.append(make("h4", "", `${label}: ${data.strategies[arm]}`));
    const fates = make("ul", "evidence");
    const pieces = data.fates[arm][at];
    for (let i = 0; i < pieces.length; i += FATE) fates.append(make("li", "", fateText(pieces.slice(i, i + FATE))));
    const list = make("ol"), mine = data.shown[arm][at], theirs = data.shown[other][at];
    const place = new Map();
    for (let i = 0; i < theirs.length; i += 2) place.set(theirs[i], i / 2 + 1);
    for (let i = 0; i < mine.length; i += 2) {
      const passage = mine[i], grade = mine[i + 1];
      const item = make("li", i / 2 === data.k ? "below" : ""), meta = make("div", "meta");
      const badge = make("span", grade > 0 ? "grade relevant" : "grade", grade < 0 ? "?" : String(grade));
      badge.title = grade < 0 ? "not judged" : `grade ${grade}`;
      const [document, pages, section, text] = data.passages[passage] || ["", "", "", "(text not kept)"];
      const source = [document, pages && "p. " + pages, section].filter(Boolean).join(", ");
      const also = place.has(passage) ? `; rank ${place.get(passage)} in ${label === "A" ? "B" : "A"}` : "";
      meta.append(make("span", "rank", String(i / 2 + 1)), badge, source + also);
      item.append(meta, marked(text, words));
      list.append(item);
    }
    if (!mine.length) list.append(make("li", "", "nothing retrieved"));
    out.append(fates, list);
    return out;
  };

  const toggle = (tr) => {
    const opening = state.open !== tr;
    if (state.open) {
      state.open.classList.remove("open");
      $("button", state.open).setAttribute("aria-expanded", "false");
      state.open.nextElementSibling.remove();
    }
    state.open = opening ? tr : null;
    if (!opening) return;
    const at = Number(tr.dataset.at), words = asked(data.questions[at][1]);
    const a = Number(ui.a.value), b = Number(ui.b.value);
    const sides = make("div", "sides"), cell = make("td", "detail"), row = make("tr", "detail");
    sides.append(side("A", a, b, at, words), side("B", b, a, at, words));
    cell.colSpan = 5;
    cell.append(sides);
    row.append(cell);
    tr.classList.add("open");
    $("button", tr).setAttribute("aria-expanded", "true");
    tr.after(row);
  };
  body.addEventListener("click", (event) => {
    const tr = event.target.closest("tr.row");
    if (tr) toggle(tr);
  });

  for (const head of all("#per-query thead th")) {
    $("button", head).addEventListener("click", () => {
      state.sign = turn(head);
      state.sort = $("button", head).dataset.by;
      update();
    });
  }
  const choose = (a, b) => {
    [ui.a.value, ui.b.value] = [a, b];
    update();
  };
  $("#swap").addEventListener("click", () => choose(ui.b.value, ui.a.value));
  $("#tools").addEventListener("submit", (event) => event.preventDefault());
  for (const name of ["a", "b", "by", "kind", "differ"]) ui[name].addEventListener("change", update);
  ui.find.addEventListener("input", update);
  all('#pairs svg .role-mark [aria-label]').forEach((cell, at) => {
    if (!data.cells[at]) return;
    cell.addEventListener("click", () => {
      choose(...data.cells[at]);
      $("#questions").scrollIntoView();
    });
  });
  update();
})();
