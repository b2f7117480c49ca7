(() => {
  const report = JSON.parse(document.getElementById("report").textContent);
  const requests = report.requests;
  const slider = document.getElementById("slider");
  if (!slider || requests.length === 0) return;
  document.documentElement.classList.add("js");

  const byId = (id) => document.getElementById(id);
  const grouped = (number) => number.toLocaleString("en-US");
  const say = (id, text) => { byId(id).textContent = text; };
  const when = byId("requests").tBodies[0].rows;
  const charts = [...document.querySelectorAll("svg[data-slot]")];

  const fill = (rows, key, parts) => {
    const most = Math.max(1, ...Object.values(parts));
    for (const row of rows) {
      const tokens = parts[row.dataset[key]] ?? 0;
      row.querySelector(".number").textContent = grouped(tokens);
      row.querySelector("rect").setAttribute("width", (100 * tokens) / most);
    }
  };

  // What happened between the request before and this one; behind the last one, everything that followed it.
  const happened = (number) => report.events.filter(
    (event) => event.after === number - 1 || (number === requests.length && event.after >= number));

  const told = (event) => {
    const item = document.createElement("li");
    const chip = item.appendChild(document.createElement("span"));
    chip.className = `chip layer-${event.letter}`;
    chip.textContent = event.letter;
    item.appendChild(document.createElement("span")).textContent = event.what;
    return item;
  };

  const show = (number) => {
    const request = requests[number - 1];
    const out = request.kept_out;
    say("r-number", grouped(number));
    say("r-at", when[number - 1].cells[1].textContent);
    say("r-question", grouped(request.question));
    say("r-asked", request.asked);
    say("r-total", grouped(request.filling.total));
    say("r-out", grouped(Object.values(out).reduce((sum, tokens) => sum + tokens, 0)));
    fill(document.querySelectorAll("[data-share]"), "share", request.filling.by_share);
    fill(document.querySelectorAll("[data-layer]"), "layer", out);
    byId("r-events").replaceChildren(...happened(number).map(told));
    for (const chart of charts) {
      const x = Number(chart.dataset.left) + (number - 0.5) * Number(chart.dataset.slot);
      chart.querySelector(".cursor").setAttribute("transform", `translate(${x} 0)`);
    }
    slider.value = number;
    slider.setAttribute("aria-valuetext", `request ${number}, ${grouped(request.filling.total)} tokens`);
  };

  const follow = (chart) => (event) => {
    const box = chart.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * chart.viewBox.baseVal.width;
    const number = Math.ceil((x - Number(chart.dataset.left)) / Number(chart.dataset.slot));
    if (number >= 1 && number <= requests.length) show(number);
  };
  for (const chart of charts) {
    chart.addEventListener("pointermove", follow(chart));
    chart.addEventListener("pointerdown", follow(chart));
  }

  const acted = [...new Set(report.events.filter((event) => event.acted).map((event) => Math.min(event.after + 1, requests.length)))].sort((a, b) => a - b);
  const at = () => Number(slider.value);
  byId("back").addEventListener("click", () => show(acted.findLast((number) => number < at()) ?? 1));
  byId("on").addEventListener("click", () => show(acted.find((number) => number > at()) ?? requests.length));
  slider.addEventListener("input", () => show(at()));

  let timer = 0;
  const play = byId("play");
  const halt = () => { clearInterval(timer); timer = 0; play.textContent = "▶"; play.setAttribute("aria-label", "Play"); };
  play.addEventListener("click", () => {
    if (timer) return halt();
    if (at() === requests.length) show(1);
    play.textContent = "❚❚";
    play.setAttribute("aria-label", "Pause");
    timer = setInterval(() => at() < requests.length ? show(at() + 1) : halt(), Math.max(30, 12000 / requests.length));
  });
  show(requests.length);
})();
