// The table of rows: opens the compressed index, filters, draws only the rows in sight, and opens a
// row's program when it is asked for. Everything crawled is shown with textContent, never as markup.
"use strict";

const byId = (id) => document.getElementById(id);
const NUMBERS = new Set(["l2", "jaccard", "eager_ms", "speedup"]);
const OUTCOMES = ["kept", "removed", "failed"];
const SEARCHED = ["name", "id", "path", "ops", "reason", "detail", "l2_problem", "jaccard_problem",
                  "matched", "licence", "origin", "level", "stage"];
const BLOCK = Number(byId("index").dataset.block); // rows of a block of programs

let columns = {}; // name → one value a row
let haystack = []; // what is searched, lower case, one text a row
let shown = []; // places of the rows that pass the filters, in order
let sort = { column: null, down: false };
const opened = new Map(); // block → promise of its rows
let programs = null; // lower-case programs, once they are searched

async function start() {
  document.querySelectorAll("pre.code").forEach((pre) => highlight(pre, pre.textContent));
  try {
    columns = await unpack(byId("index").textContent);
  } catch (error) {
    byId("count").textContent = "This browser can't open the table (" + error.message + "). The shards and the ledger beside this page hold the same rows.";
    return;
  }
  haystack = columns.id.map((_, row) => SEARCHED.map((name) => columns[name][row] ?? "").join(" ").toLowerCase());
  fillSelects();
  listen();
  refresh();
  openFromAddress();
}

/** base64 of zlib-compressed JSON → its value. */
async function unpack(text) {
  if (!("DecompressionStream" in window)) throw new Error("it has no DecompressionStream");
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

function fillSelects() {
  for (const select of document.querySelectorAll("select[data-column]")) {
    const counts = new Map();
    for (const value of columns[select.dataset.column]) if (value != null) counts.set(value, (counts.get(value) || 0) + 1);
    select.append(new Option("all", ""));
    for (const value of [...counts.keys()].sort()) select.append(new Option(`${value} (${counts.get(value).toLocaleString("en")})`, value));
    select.disabled = counts.size === 0;
  }
}

function listen() {
  const form = byId("filters");
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", refresh);
  form.addEventListener("reset", () => setTimeout(refresh));
  byId("in-code").addEventListener("change", readPrograms);
  byId("window").addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
  byId("window").addEventListener("keydown", moveFocus);
  byId("head").addEventListener("click", (event) => sortBy(event.target.dataset.sort));
  byId("spacer").addEventListener("click", (event) => {
    const row = event.target.closest("[data-row]");
    if (row) openRow(Number(row.dataset.row));
  });
  byId("close").addEventListener("click", () => byId("detail").close());
  byId("detail").addEventListener("click", (event) => { if (event.target === byId("detail")) byId("detail").close(); });
  byId("detail").addEventListener("close", () => history.replaceState(null, "", "#rows"));
  for (const chip of document.querySelectorAll(".chip")) chip.addEventListener("click", () => showReason(chip.dataset));
  addEventListener("resize", draw);
  addEventListener("hashchange", openFromAddress);
}

/** Filters and sorts all rows, then draws. */
function refresh() {
  const words = byId("query").value.toLowerCase().split(/\s+/).filter(Boolean);
  const outcome = document.querySelector("input[name=outcome]:checked").value;
  const wanted = [...document.querySelectorAll("select[data-column]")].filter((s) => s.value).map((s) => [columns[s.dataset.column], s.value]);
  const found = (row, word) => haystack[row].includes(word) || (programs !== null && programs[row] !== undefined && programs[row].includes(word));
  shown = [];
  for (let row = 0; row < haystack.length; row++) {
    if (outcome && columns.outcome[row] !== outcome) continue;
    if (!wanted.every(([values, value]) => values[row] === value)) continue;
    if (words.every((word) => found(row, word))) shown.push(row);
  }
  if (sort.column) order();
  byId("count").textContent = `${shown.length.toLocaleString("en")} of ${haystack.length.toLocaleString("en")} rows`;
  byId("window").scrollTop = 0;
  draw();
}

/** Sorts the shown rows; rows without a value come last, whichever way. */
function order() {
  const values = columns[sort.column], sign = sort.down ? -1 : 1;
  const compare = NUMBERS.has(sort.column) ? (a, b) => a - b : (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  shown.sort((a, b) => {
    const left = values[a], right = values[b];
    if (left == null || right == null) return (left == null) - (right == null) || a - b;
    return sign * compare(left, right) || a - b;
  });
}

function sortBy(column) {
  if (!column) return;
  sort = { column, down: sort.column === column ? !sort.down : false };
  for (const button of byId("head").children) {
    if (button.dataset.sort === column) button.dataset.order = sort.down ? "descending" : "ascending";
    else delete button.dataset.order;
  }
  refresh();
}

/** Draws the rows in sight and a few around them. */
function draw() {
  const pane = byId("window"), spacer = byId("spacer");
  const height = matchMedia("(max-width: 46rem)").matches ? 60 : 52;
  spacer.style.height = shown.length * height + "px";
  const first = Math.max(0, Math.floor(pane.scrollTop / height) - 6);
  const last = Math.min(shown.length, first + Math.ceil(pane.clientHeight / height) + 12);
  const focused = document.activeElement && document.activeElement.dataset.row;
  const rows = document.createDocumentFragment();
  for (let place = first; place < last; place++) {
    const line = rowElement(shown[place]);
    line.style.top = place * height + "px";
    rows.append(line);
  }
  spacer.replaceChildren(rows);
  if (focused !== undefined) spacer.querySelector(`[data-row="${focused}"]`)?.focus({ preventScroll: true });
}

function rowElement(row) {
  const line = make("button", "row");
  line.type = "button";
  line.dataset.row = row;
  const name = make("span", "name", columns.name[row] || columns.id[row]);
  name.append(make("small", "", [columns.source[row], columns.path[row]].filter(Boolean).join(" · ")));
  line.append(name, make("span", "outcome " + columns.outcome[row], verdict(row)));
  if (columns.outcome[row] !== "kept") {
    line.lastChild.append(make("small", "", columns.detail[row] || columns.matched[row] || ""));
    return line;
  }
  const told = { l2: (v) => v.toFixed(3), jaccard: (v) => v.toFixed(3), eager_ms: number, speedup: (v) => v.toFixed(2) + "×" };
  for (const [column, tell] of Object.entries(told)) {
    const value = columns[column][row];
    line.append(make("span", "n", value == null ? "" : tell(value)));
  }
  return line;
}

const verdict = (row) => columns.outcome[row] === "kept"
  ? ["kept", columns.level[row]].filter(Boolean).join(" · ")
  : `${columns.reason[row]} · ${columns.stage[row]}`;

function moveFocus(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const row = document.activeElement.dataset.row;
  if (!step || row === undefined) return;
  event.preventDefault();
  const target = shown[shown.indexOf(Number(row)) + step];
  if (target !== undefined) byId("spacer").querySelector(`[data-row="${target}"]`)?.focus();
}

/** Sets the filters so that one reason's rows are seen. */
function showReason({ stage, reason }) {
  byId("filters").reset();
  document.querySelector("select[data-column=stage]").value = stage;
  document.querySelector("select[data-column=reason]").value = reason;
  setTimeout(refresh);
  byId("rows").scrollIntoView();
}

async function readPrograms() {
  if (byId("in-code").checked) {
    byId("count").textContent = "reading the programs …";
    const count = document.querySelectorAll("script.block").length;
    const blocks = await Promise.all(Array.from({ length: count }, (_, block) => readBlock(block)));
    programs = blocks.flat().map((row) => (row.code || "").toLowerCase());
  } else {
    programs = null;
  }
  refresh();
}

function readBlock(block) {
  if (!opened.has(block)) opened.set(block, unpack(document.querySelectorAll("script.block")[block].textContent));
  return opened.get(block);
}

async function openRow(row) {
  const kept = columns.outcome[row] === "kept";
  const more = kept ? (await readBlock(Math.floor(row / BLOCK)))[row % BLOCK] : {};
  byId("detail-name").textContent = columns.name[row] || columns.id[row];
  byId("detail-body").replaceChildren(kept ? keptDetail(row, more) : goneDetail(row));
  if (!byId("detail").open) byId("detail").showModal();
  byId("detail").scrollTop = 0;
  const address = kept ? { row: columns.id[row] } : { row: columns.id[row], name: columns.name[row] };
  history.replaceState(null, "", "#" + new URLSearchParams(address));
}

/** An address that ends in #row=ID opens that row; that of a removed class has its name, too. */
function openFromAddress() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const id = wanted.get("row"), name = wanted.get("name");
  if (id === null) return;
  const row = columns.id.findIndex((other, place) => other === id && (name === null || columns.name[place] === name));
  if (row >= 0) openRow(row);
}

function keptDetail(row, more) {
  const body = make("div", "detail");
  const facts = make("dl");
  fact(facts, "Outcome", badge(row));
  fact(facts, "Why this level", more.rationale);
  fact(facts, "Nearest by embedding", columns.l2_problem[row] && `${columns.l2_problem[row]}, l2 ${number(columns.l2[row])}`);
  fact(facts, "Nearest by tokens", columns.jaccard_problem[row] && `${columns.jaccard_problem[row]}, jaccard ${number(columns.jaccard[row])}`);
  fact(facts, "Origin", [columns.origin[row], columns.path[row], columns.line[row] && "line " + columns.line[row]].filter(Boolean).join(" · "));
  fact(facts, "Licence", columns.licence[row]);
  fact(facts, "Flags", (more.flags || []).join(", "));
  fact(facts, "Edits", (more.edits || []).join("; "));
  fact(facts, "Operations", columns.ops[row], true);
  fact(facts, "Full story", command(row), true);
  body.append(facts);
  if (more.shapes.length) body.append(make("h3", "", "Shapes"), table(["shape", "working set", "flop", ""], more.shapes.map(([name, set, flops, held]) => [name, unit(set, "B"), unit(flops, ""), held ? "held out" : ""])));
  if (more.times.length) body.append(make("h3", "", "Times"), table(["shape", "device", "mode", "dtype", "status", "median, ms", "spread"], more.times.map((t) => [...t.slice(0, 5), number(t[5]), t[6] == null ? "" : Math.round(100 * t[6]) + " %"])));
  body.append(make("h3", "", "Program"));
  const pre = make("pre", "code");
  highlight(pre, more.code || "");
  body.append(pre);
  return body;
}

function goneDetail(row) {
  const body = make("div", "detail");
  const facts = make("dl");
  fact(facts, "Outcome", badge(row));
  fact(facts, "Decided by", columns.stage[row]);
  fact(facts, "Reason", columns.reason[row]);
  fact(facts, "Matched", columns.matched[row]);
  if (columns.value[row] != null) fact(facts, columns.metric[row] || "value", number(columns.value[row]) + (columns.threshold[row] == null ? "" : `, compared with ${number(columns.threshold[row])}`));
  fact(facts, "Where", [columns.source[row], columns.path[row]].filter(Boolean).join(" · "));
  fact(facts, "Detail", columns.detail[row], true);
  fact(facts, "Full story", command(row), true);
  body.append(facts);
  return body;
}

const badge = (row) => make("span", "badge " + columns.outcome[row], [columns.outcome[row], columns.level[row]].filter(Boolean).join(" · "));
const command = (row) => make("code", "", "kernelset explain " + columns.id[row]);
const number = (value) => (value == null ? "" : Number(value.toPrecision(4)).toString());

function unit(value, name) {
  if (value == null) return "";
  const power = Math.min(4, Math.max(0, Math.floor(Math.log10(Math.max(1, Math.abs(value))) / 3)));
  return Number((value / 1000 ** power).toPrecision(3)) + " " + ["", "k", "M", "G", "T"][power] + name;
}

function fact(list, term, value, full) {
  if (!value) return;
  const pair = make("div", full ? "full" : ""), told = make("dd");
  told.append(value);
  pair.append(make("dt", "", term), told);
  list.append(pair);
}

function table(heads, rows) {
  const frame = make("div", "scroll"), grid = make("table"), head = make("tr"), body = make("tbody");
  for (const name of heads) head.append(make("th", "", name));
  for (const row of rows) {
    const line = make("tr");
    for (const value of row) line.append(make("td", "", value ?? ""));
    body.append(line);
  }
  const top = make("thead");
  top.append(head);
  grid.append(top, body);
  frame.append(grid);
  return frame;
}

function make(tag, style, text) {
  const element = document.createElement(tag);
  if (style) element.className = style;
  if (text !== undefined) element.textContent = text;
  return element;
}

const TOKENS = /(#[^\n]*)|([rbfuRBFU]{0,2}(?:"""[^]*?"""|'''[^]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))|\b(and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield)\b|\b(\d[\w.]*|True|False|None|self)\b/g;
const KINDS = ["comment", "string", "keyword", "literal"];

/** Fills an element with a Python program in colours. */
function highlight(element, code) {
  const parts = document.createDocumentFragment();
  let end = 0;
  for (const found of code.matchAll(TOKENS)) {
    parts.append(code.slice(end, found.index));
    parts.append(make("span", KINDS[found.slice(1).findIndex((group) => group !== undefined)], found[0]));
    end = found.index + found[0].length;
  }
  parts.append(code.slice(end));
  element.replaceChildren(parts);
}

start();
