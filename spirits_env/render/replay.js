"use strict";
(() => {
  const game = JSON.parse(document.getElementById("content").textContent);
  const byId = (id) => document.getElementById(id);
  const plies = game.decisions.length;
  const seats = [...Array(game.players).keys()];
  const slips = game.thoughts.flatMap((thought, ply) => (thought && thought.mistake ? [ply] : []));
  // The scenes are folded: each level is put together from the texts of the next one.
  const [scenes, ...levels] = game.levels;
  const join = (parts, texts) => parts.map((part) => texts[part]).join("");
  const lines = levels.reduceRight((texts, level) => level.map((parts) => join(parts, texts)), game.pieces);
  const SVG = "http://www.w3.org/2000/svg";
  // Seats are told apart without colours, too.
  const DASHES = ["", "8 5", "2 5", "12 4 2 4"];
  const MOST_CHOICES = 6;
  let ply = 0;
  let timer = 0;

  function make(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }

  function draw(name, attributes, ...children) {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }

  const figure = (value) => String(value).replace("-", "\u2212");
  const signed = (value) => (value < 0 ? "\u2212" : "+") + Math.abs(value).toFixed(2);
  const percent = (chance) =>
    chance > 0 && chance < 0.001 ? "< 0.1 %" : (100 * chance).toFixed(chance < 0.1 ? 1 : 0) + " %";
  const listed = (words) =>
    words.length < 2 ? words.join("") : words.slice(0, -1).join(", ") + " and " + words[words.length - 1];
  const counted = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
  const points = (count) => `${figure(count)} point${count === 1 ? "" : "s"}`;
  const badge = (seat) => make("span", { class: `badge seat-${seat}`, "aria-hidden": "true" }, String(seat));

  function outcome() {
    if (!game.over) return `The game goes on: seat ${game.next} is to act.`;
    const won = game.winners;
    if (!won.length) return `Nobody wins; the points are ${listed(game.scores.map(figure))}.`;
    const who = `Seat ${listed(won.map((seat, number) => (number ? `seat ${seat}` : String(seat))))}`;
    if (won.length > 1) return `${who} share the win; the points are ${listed(game.scores.map(figure))}.`;
    const others = seats.filter((seat) => seat !== won[0]).map((seat) => figure(game.scores[seat]));
    return `${who} wins with ${points(game.scores[won[0]])}${others.length ? ` to ${listed(others)}` : ""}.`;
  }

  // --- what is shown at a position ---------------------------------------------------------------------

  function showBoard() {
    const board = byId("board");
    board.innerHTML = join(scenes[ply], lines);
    board.setAttribute("aria-label", `Board after ${ply} of ${counted(plies, "decision")}`);
  }

  function actor() {
    return ply < plies ? game.decisions[ply].seat : game.next;
  }

  function showSeats() {
    byId("seats").replaceChildren(
      ...seats.map((seat) => {
        const acts = seat === actor();
        const item = make("li", { class: `seat-${seat}${acts ? " acts" : ""}` }, badge(seat));
        const count = game.points ? game.points[ply][seat] : ply === plies && game.over ? game.scores[seat] : null;
        item.append(make("span", {}, `seat ${seat}`));
        if (count !== null) item.append(make("b", {}, points(count)));
        if (acts) item.append(make("span", {}, "to act"));
        if (ply === plies && game.winners.includes(seat)) item.append(make("span", {}, "wins"));
        return item;
      }),
    );
  }

  function showStatus() {
    const thought = game.thoughts[ply];
    const status = byId("status");
    if (ply === plies) {
      status.replaceChildren(`After all ${counted(plies, "decision")}. ${outcome()}`);
      return;
    }
    const { seat, turn, text } = game.decisions[ply];
    status.replaceChildren(`After ${ply} of ${plies}, turn ${turn + 1}. `, make("b", {}, `Seat ${seat}: `), text);
    if (thought && thought.mistake) status.append(make("span", { class: "flag" }, " Likely a mistake."));
  }

  function showThought() {
    const thought = game.thoughts[ply];
    const text = byId("thought-text");
    byId("choices").replaceChildren();
    if (!thought) {
      text.textContent = ply === plies ? "The end: there is nothing to decide." : "Only the seat itself knows what it could do.";
      return;
    }
    const { seat } = game.decisions[ply];
    let said = `It expects ${signed(thought.value)} for seat ${seat}.`;
    const best = thought.choices[0];
    if (best.played) said += " What was played is what it likes most.";
    else if (thought.loss > 0) said += ` What was played lowers that by ${thought.loss.toFixed(2)} against its first choice.`;
    else said += " What was played costs nothing against its first choice, as far as it can tell.";
    text.replaceChildren(said);
    if (thought.mistake) text.append(make("span", { class: "flag" }, " Likely a mistake."));
    const rows = thought.choices.map((choice) => choiceRow(choice, seat, thought.mistake));
    const shown = rows.filter((_, number) => number < MOST_CHOICES || thought.choices[number].played);
    const rest = rows.filter((row) => !shown.includes(row));
    byId("choices").append(...shown);
    if (rest.length) {
      const more = make("ol", { class: "choices" }, ...rest);
      byId("choices").append(make("li", {}, make("details", {}, make("summary", {}, `${rest.length} more`), more)));
    }
  }

  function choiceRow(choice, seat, mistake) {
    const kind = choice.played ? (mistake ? "played slip" : "played") : "";
    const words = make("span", {}, choice.text);
    if (choice.played) words.append(make("em", {}, " Played."));
    const bar = make("div", { class: `bar seat-${seat}`, "aria-hidden": "true" }, make("i"));
    bar.firstChild.style.width = `${100 * choice.chance}%`;
    const row = make("div", { class: "row" }, words, make("span", {}, percent(choice.chance)));
    return make("li", { class: kind }, row, bar);
  }

  function showListEntry() {
    const list = byId("list");
    const entries = list.querySelectorAll("button");
    const before = list.querySelector("[aria-current]");
    if (before) before.removeAttribute("aria-current");
    const entry = entries[ply];
    entry.setAttribute("aria-current", "step");
    const top = entry.offsetTop - list.clientTop;
    if (top < list.scrollTop + 30) list.scrollTop = top - 60;
    else if (top + entry.offsetHeight > list.scrollTop + list.clientHeight - 30)
      list.scrollTop = top + entry.offsetHeight - list.clientHeight + 60;
  }

  function show() {
    showBoard();
    showSeats();
    showStatus();
    if (game.policy) showThought();
    const slider = byId("slider");
    slider.value = ply;
    slider.setAttribute("aria-valuetext", ply === plies ? "end" : `${ply} of ${plies}`);
    byId("first").disabled = byId("back").disabled = ply === 0;
    byId("next").disabled = byId("last").disabled = ply === plies;
    for (const chart of charts) chart.mark();
    // The list's height may depend on all the rest.
    showListEntry();
  }

  // --- charts ------------------------------------------------------------------------------------------

  function steps(low, high) {
    const size = [0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 200].find((step) => (high - low) / step <= 5) || 500;
    const ticks = [];
    for (let tick = Math.ceil(low / size) * size; tick <= high + 1e-9; tick += size) ticks.push(tick);
    return ticks;
  }

  // A line per seat over the positions; `lines` holds lists of [ply, value], `slips` marks to stand on lines.
  class Chart {
    constructor(place, lines, label, marks, low, high) {
      Object.assign(this, { place, lines, label, marks, low, high });
      this.draw();
      place.addEventListener("pointerdown", (event) => this.follow(event));
      place.addEventListener("pointermove", (event) => event.buttons & 1 && this.follow(event));
    }

    x(at) {
      return this.left + (at / Math.max(1, plies)) * (this.width - this.left - this.right);
    }

    y(value) {
      return 8 + ((this.high - value) / (this.high - this.low)) * (this.height - 30);
    }

    draw() {
      this.width = Math.max(240, this.place.clientWidth);
      this.height = 170;
      this.left = 34;
      this.right = 52;
      const view = `0 0 ${this.width} ${this.height}`;
      const chart = draw("svg", { viewBox: view, role: "img", "aria-label": this.label });
      for (const tick of steps(this.low, this.high)) {
        const y = this.y(tick);
        const kind = tick === 0 ? "zero" : "grid";
        chart.append(draw("line", { class: kind, x1: this.left, x2: this.width - this.right, y1: y, y2: y }));
        const text = figure(Math.round(tick * 100) / 100);
        chart.append(draw("text", { x: this.left - 6, y: y + 4, "text-anchor": "end" }, text));
      }
      for (const tick of steps(0, plies))
        chart.append(draw("text", { x: this.x(tick), y: this.height - 4, "text-anchor": "middle" }, String(tick)));
      this.lines.forEach((line, seat) => this.drawLine(chart, line, seat));
      this.drawNames(chart);
      for (const at of this.marks) {
        const found = this.lines[game.decisions[at].seat].find(([where]) => where === at);
        const [x, y] = [this.x(at), this.y(found[1])];
        chart.append(draw("path", { class: "slip", "data-ply": at, d: `M${x} ${y - 7}l6 11h-12z` }));
      }
      this.now = draw("line", { class: "now", y1: 4, y2: this.height - 20 });
      this.dots = this.lines.map((_, seat) => draw("circle", { class: `dot seat-${seat}`, r: 5 }));
      chart.append(this.now, ...this.dots);
      this.place.replaceChildren(chart);
      this.mark();
    }

    drawLine(chart, line, seat) {
      const points = line.map(([at, value]) => `${this.x(at).toFixed(1)},${this.y(value).toFixed(1)}`).join(" ");
      const style = { class: `line seat-${seat}`, "stroke-dasharray": DASHES[seat], points };
      chart.append(draw("polyline", style));
    }

    // The names stand at the lines' ends, moved apart where these are close.
    drawNames(chart) {
      const ends = this.lines.flatMap((line, seat) => (line.length ? [{ seat, y: this.y(line[line.length - 1][1]) }] : []));
      ends.sort((one, other) => one.y - other.y);
      let free = 0;
      for (const end of ends) end.y = free = Math.max(end.y, free + 14);
      let most = this.height - 22;
      for (const end of ends.reverse()) {
        end.y = Math.min(end.y, most);
        most = end.y - 14;
        const style = { class: `name seat-${end.seat}`, x: this.width - this.right + 9, y: end.y + 4 };
        chart.append(draw("text", style, `seat ${end.seat}`));
      }
    }

    mark() {
      const x = this.x(ply);
      this.now.setAttribute("x1", x);
      this.now.setAttribute("x2", x);
      this.now.setAttribute("data-ply", ply);
      this.lines.forEach((line, seat) => {
        const here = line.find(([at]) => at === ply);
        this.dots[seat].style.display = here ? "" : "none";
        if (!here) return;
        this.dots[seat].setAttribute("cx", x);
        this.dots[seat].setAttribute("cy", this.y(here[1]));
      });
    }

    follow(event) {
      const box = this.place.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * this.width;
      go(Math.round(((x - this.left) / (this.width - this.left - this.right)) * plies));
    }
  }

  const charts = [];

  function makeCharts() {
    byId("points-section").hidden = !game.points;
    if (game.points) {
      const lines = seats.map((seat) => game.points.map((row, at) => [at, row[seat]]));
      const values = game.points.flat();
      const label = `Points of each seat at every position. ${outcome()}`;
      charts.push(new Chart(byId("points-chart"), lines, label, [], Math.min(0, ...values), Math.max(1, ...values)));
    }
    const lines = seats.map((seat) =>
      game.thoughts.flatMap((thought, at) => (thought && game.decisions[at].seat === seat ? [[at, thought.value]] : [])),
    );
    const values = lines.flat().map(([, value]) => value);
    if (!values.length) return;
    byId("value-section").hidden = false;
    const most = Math.max(1, ...values.map(Math.abs));
    const label = `What ${game.policy} expects for each seat at its own decisions.`;
    charts.push(new Chart(byId("value-chart"), lines, label, slips, -most, most));
    byId("value-note").textContent =
      `The return that ${game.policy} expects for each seat at that seat's own decisions, from what the seat knows then. ` +
      (slips.length ? "Triangles are likely mistakes." : "");
  }

  // --- what stays the same -----------------------------------------------------------------------------

  function makeList() {
    const list = byId("list");
    game.decisions.forEach(({ seat, turn, text }, at) => {
      if (!at || turn !== game.decisions[at - 1].turn)
        list.append(make("li", { class: "turn" }, `turn ${turn + 1}`));
      const entry = make("button", { type: "button", "data-ply": at });
      entry.append(make("span", { class: "number" }, String(at)), badge(seat));
      entry.append(make("span", {}, make("span", { class: "unseen" }, `seat ${seat}: `), text));
      if (slips.includes(at)) {
        const loss = game.thoughts[at].loss.toFixed(2);
        entry.append(make("span", { class: "flag" }, make("span", { class: "unseen" }, " Likely a mistake: "), `\u2212${loss}`));
      }
      entry.addEventListener("click", () => go(at));
      list.append(make("li", {}, entry));
    });
    const end = make("button", { type: "button", "data-ply": plies });
    end.append(make("span", { class: "number" }, String(plies)), make("span"), make("span", {}, outcome()));
    end.addEventListener("click", () => go(plies));
    list.append(make("li", {}, end));
  }

  function makeCount() {
    if (!game.count.length) return;
    byId("count-section").hidden = false;
    byId("count-heading").textContent = game.over ? "How the points came about" : "The points as they stand";
    const heading = { class: "figure", scope: "col" };
    byId("count-head").append(...seats.map((seat) => make("th", heading, `seat ${seat}`)), make("th", { scope: "col" }, "Why"));
    for (const { points, text } of game.count) {
      const most = Math.max(...points);
      const cells = points.map((value) =>
        make("td", { class: value === most && value > 0 ? "figure most" : "figure" }, figure(value)),
      );
      byId("count-body").append(make("tr", {}, ...cells, make("td", {}, text)));
    }
    byId("count-foot").append(
      ...seats.map((seat) => make("td", { class: "figure" }, figure(game.scores[seat]))),
      make("td", {}, game.over ? outcome() : "in all"),
    );
  }

  function makeMistakes() {
    if (!game.policy) return;
    byId("thought-section").hidden = false;
    byId("thought-heading").textContent = `What ${game.policy} thinks`;
    const note = byId("list-note");
    note.hidden = false;
    const judged = seats.filter((seat) => game.seat === null || seat === game.seat);
    const each = judged.map((seat) => `${slips.filter((at) => game.decisions[at].seat === seat).length} of seat ${seat}`);
    note.textContent =
      `Likely mistakes: ${listed(each)}. These are decisions that ${game.policy} would take less often ` +
      `than in ${100 * game.unlikely} of 100 cases, and that lower what it expects by ${game.costly} or more.`;
    if (!slips.length) return;
    byId("mistake").hidden = byId("mistake-keys").hidden = false;
    byId("marks").append(
      ...slips.map((at) => {
        const mark = make("i", { "data-ply": at });
        mark.style.left = `${(100 * at) / plies}%`;
        return mark;
      }),
    );
  }

  function makeSummary() {
    const view = game.seat === null ? "All cards open." : `As seat ${game.seat} sees it.`;
    byId("summary").textContent = `${outcome()} ${counted(plies, "decision")}. ${view}`;
    byId("remarks").textContent = game.remarks;
    byId("remarks").hidden = !game.remarks;
  }

  // --- steps -------------------------------------------------------------------------------------------

  function go(to) {
    ply = Math.min(plies, Math.max(0, to));
    show();
    try {
      history.replaceState(null, "", `#${ply}`);
    } catch {
      // Browsers refuse this in frames without an address, and when it comes too often: the page does without.
    }
  }

  function nextSlip(step) {
    if (!slips.length) return;
    const ahead = step > 0 ? slips.find((at) => at > ply) : slips.filter((at) => at < ply).pop();
    go(ahead === undefined ? slips[step > 0 ? 0 : slips.length - 1] : ahead);
  }

  function setPlaying(playing) {
    clearInterval(timer);
    timer = 0;
    if (playing) {
      if (ply === plies) go(0);
      timer = setInterval(() => {
        go(ply + 1);
        if (ply === plies) setPlaying(false);
      }, Number(byId("speed").value));
    }
    byId("play").setAttribute("aria-pressed", String(playing));
    byId("play-text").textContent = playing ? "Pause" : "Play";
    byId("play-icon").setAttribute("d", playing ? "M4 3h4.5v14H4zM11.5 3H16v14h-4.5z" : "M5 3v14l12-7z");
    // Nobody wants to hear every board of a film.
    byId("status").setAttribute("aria-live", playing ? "off" : "polite");
  }

  function onKey(event) {
    const inside = event.target instanceof Element ? event.target : document.body;
    if (event.ctrlKey || event.altKey || event.metaKey || inside.closest("select")) return;
    if (event.key === " " && inside.closest("button, summary")) return;
    const steps = {
      ArrowLeft: () => go(ply - 1),
      ArrowRight: () => go(ply + 1),
      Home: () => go(0),
      End: () => go(plies),
      " ": () => setPlaying(!timer),
      m: () => nextSlip(1),
      M: () => nextSlip(-1),
    };
    if (!Object.hasOwn(steps, event.key)) return;
    event.preventDefault();
    steps[event.key]();
  }

  function start() {
    const asked = /^#(\d+)$/.exec(location.hash);
    if (asked) ply = Math.min(plies, Number(asked[1]));
    byId("slider").max = plies;
    makeSummary();
    makeMistakes();
    makeList();
    makeCount();
    makeCharts();
    show();
    byId("first").addEventListener("click", () => go(0));
    byId("back").addEventListener("click", () => go(ply - 1));
    byId("next").addEventListener("click", () => go(ply + 1));
    byId("last").addEventListener("click", () => go(plies));
    byId("mistake").addEventListener("click", () => nextSlip(1));
    byId("play").addEventListener("click", () => setPlaying(!timer));
    byId("speed").addEventListener("change", () => timer && setPlaying(true));
    byId("slider").addEventListener("input", (event) => go(Number(event.target.value)));
    document.addEventListener("keydown", onKey);
    window.addEventListener("resize", () => charts.forEach((chart) => chart.draw()));
    window.addEventListener("hashchange", () => {
      const to = /^#(\d+)$/.exec(location.hash);
      if (to) go(Number(to[1]));
    });
  }

  start();
})();
