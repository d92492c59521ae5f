"use strict";

// Passages come from documents of others: they reach the page as text only, never as HTML.
const $ = (id) => document.getElementById(id);
const token = new URLSearchParams(location.search).get("token") || "";
let state = null;
let here = 0;
let queue = Promise.resolve();

async function ask(path, content) {
  const options = content === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content),
  };
  const answer = await fetch(`${path}?token=${encodeURIComponent(token)}`, options);
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

// One thing after the other, so that quick keys judge the passages in the order in which they are shown.
function then(step) {
  queue = queue.then(step).then(() => say(""), (error) => say(`Not stored: ${error.message}. Is the command running?`));
  return queue;
}

function say(text) {
  $("error").textContent = text;
  $("error").hidden = !text;
}

const open = (passage) => passage.grade === null;
const shown = (number) => !$("open-only").checked || open(state.passages[number]);

function step(direction) {
  for (let at = here + direction; at >= 0 && at < state.passages.length; at += direction) {
    if (shown(at)) return at;
  }
  return here;
}

function following() {
  const next = step(1);
  if (next !== here) return next;
  const first = state.passages.findIndex(open);
  return first < 0 ? null : first;
}

function go(number) {
  here = number;
  draw();
}

async function judge(grade) {
  const told = await ask("judge", { number: here, grade, comment: $("comment").value.trim() });
  Object.assign(state.passages[told.number], told);
  const next = following();
  if (next === null) finish(); else go(next);
}

async function undo() {
  const told = await ask("undo", {});
  if (told.number === null) return;
  Object.assign(state.passages[told.number], told);
  go(told.number);
}

async function keepComment() {
  const passage = state.passages[here];
  const comment = $("comment").value.trim();
  if (comment === passage.comment) return;
  if (open(passage)) {
    passage.comment = comment; // stored together with its grade
    return;
  }
  Object.assign(passage, await ask("judge", { number: here, grade: passage.grade, comment }));
  draw();
}

function finish() {
  $("desk").hidden = true;
  $("finished").hidden = false;
  count();
}

function count() {
  const judged = state.passages.filter((passage) => !open(passage)).length;
  $("count").textContent = `${judged} of ${state.passages.length} judged`;
  $("progress").max = state.passages.length;
  $("progress").value = judged;
}

function draw() {
  const passage = state.passages[here];
  $("desk").hidden = false;
  $("finished").hidden = true;
  count();
  $("question").textContent = passage.query;
  write($("text"), passage);
  $("place").textContent = `${passage.doc_name}, page ${passage.page}`;
  $("state").textContent = open(passage) ? "not judged yet" : `judged ${passage.grade}`;
  $("comment").value = passage.comment;
  for (const button of $("grades").children) {
    button.setAttribute("aria-pressed", String(Number(button.dataset.grade) === passage.grade));
  }
  drawDots(passage.qid);
  scrollTo(0, 0);
}

function drawDots(qid) {
  const questions = [...new Set(state.passages.map((passage) => passage.qid))];
  const own = state.passages.map((passage, number) => ({ passage, number })).filter((row) => row.passage.qid === qid);
  const judged = own.filter((row) => !open(row.passage)).length;
  $("question-number").textContent =
    `Question ${questions.indexOf(qid) + 1} of ${questions.length}: ${judged} of ${own.length} judged`;
  $("dots").replaceChildren(...own.map(({ passage, number }) => {
    const dot = document.createElement("button");
    dot.type = "button";
    dot.className = `dot${open(passage) ? "" : " judged"}${number === here ? " here" : ""}`;
    dot.setAttribute("aria-label", `passage ${number + 1}, ${open(passage) ? "open" : "judged"}`);
    dot.onclick = () => go(number);
    return dot;
  }));
}

// Marks count characters as Python does: one for every code point.
function write(element, passage) {
  const letters = [...passage.quote];
  const parts = [];
  let done = 0;
  for (const [start, end] of passage.marks) {
    parts.push(letters.slice(done, start).join(""));
    const mark = document.createElement("mark");
    mark.textContent = letters.slice(start, end).join("");
    parts.push(mark);
    done = end;
  }
  element.replaceChildren(...parts, letters.slice(done).join(""));
}

function drawGrades() {
  $("grades").replaceChildren(...state.grades.map(({ grade, name, text }) => {
    const button = document.createElement("button");
    const key = document.createElement("kbd");
    const title = document.createElement("strong");
    const about = document.createElement("span");
    key.textContent = grade;
    title.append(key, ` ${name}`);
    about.textContent = text;
    button.type = "button";
    button.dataset.grade = grade;
    button.append(title, about);
    button.onclick = () => then(() => judge(grade));
    return button;
  }));
}

const actions = {
  " ": () => go(step(1)), Enter: () => go(step(1)), ArrowRight: () => go(step(1)), j: () => go(step(1)),
  ArrowLeft: () => go(step(-1)), k: () => go(step(-1)),
  u: undo,
  o: () => $("open-only").click(),
  c: () => $("comment").focus(),
};

function pressed(event) {
  if (event.target === $("comment")) {
    if (event.key === "Enter" || event.key === "Escape") $("comment").blur();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || !state) return;
  const onButton = event.target instanceof HTMLButtonElement && (event.key === " " || event.key === "Enter");
  if (onButton) return;
  const finished = $("desk").hidden;
  if (!finished && state.grades.some(({ grade }) => String(grade) === event.key)) {
    event.preventDefault();
    then(() => judge(Number(event.key)));
  } else if (event.key in actions && (!finished || event.key === "u")) {
    event.preventDefault();
    then(actions[event.key]);
  }
}

async function start() {
  state = await ask("state");
  $("source").textContent = `as ${state.source}`;
  $("file").textContent = state.file;
  $("command").textContent = `python -m evaluation.pool import=${state.file} into=<folder or questions.jsonl>`;
  document.title = `Judging as ${state.source}`;
  drawGrades();
  const first = state.passages.findIndex(open);
  if (first < 0) finish(); else go(first);
}

$("back").onclick = () => then(() => go(step(-1)));
$("skip").onclick = () => then(() => go(step(1)));
$("undo").onclick = () => then(undo);
$("again").onclick = () => { $("open-only").checked = false; go(0); };
$("comment").onblur = () => then(keepComment);
document.addEventListener("keydown", pressed);
document.addEventListener("click", (event) => event.target.closest("button")?.blur());
start().catch((error) => say(error.message));
