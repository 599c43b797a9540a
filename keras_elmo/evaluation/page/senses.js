"use strict";
(() => {
  // Corpus text goes to the screen by textContent alone.
  const data = JSON.parse(document.getElementById("data").textContent);
  const get = (id) => document.getElementById(id);
  const plot = get("plot"), tip = get("tip"), panel = get("panel"), slider = get("layer");
  const total = data.uses.length;
  const radius = Math.min(0.035, Math.max(0.014, 0.3 / Math.sqrt(total)));
  let layer = 0, chosen = null, only = null, query = "";

  const element = (name, properties = {}, ...children) => {
    const made = document.createElement(name);
    Object.assign(made, properties);
    made.append(...children);
    return made;
  };
  const dot = (cluster) => {
    const made = element("span", { className: "dot" });
    made.style.background = data.clusters[cluster].color;
    return made;
  };
  const sentence = (use) => {
    const [before, word, behind] = data.uses[use].text;
    const made = element("span", { dir: "auto" });
    made.append(before, before && " ", element("b", { textContent: word }), behind && " ", behind);
    return made;
  };
  const count = (number) => number.toLocaleString("en");

  const circles = data.uses.map((_, use) => {
    const circle = document.createElementNS("http://www.w3.org/2000/svg", "circle");
    circle.setAttribute("r", radius);
    circle.dataset.use = use;
    circle.style.fill = data.clusters[data.cluster[use]].color;
    circle.addEventListener("pointermove", (event) => show(use, event));
    circle.addEventListener("pointerleave", () => { tip.hidden = true; });
    circle.addEventListener("click", () => choose(chosen === use ? null : use));
    plot.append(circle);
    return circle;
  });

  // Attributes a frame at a time: with a transition of its own each point would be a
  // layer of the browser's, hundreds at once.
  let places, running = 0;
  function move() {
    const from = places, to = data.points[layer], own = ++running;
    const duration = matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 600;
    const begin = performance.now();
    const frame = (now) => {
      if (own !== running) return;
      const part = duration ? Math.min(Math.max((now - begin) / duration, 0), 1) : 1;
      const eased = part * part * (3 - 2 * part);
      places = to.map(([x, y], use) => [
        from[use][0] + eased * (x - from[use][0]),
        from[use][1] + eased * (y - from[use][1]),
      ]);
      circles.forEach((circle, use) => {
        circle.setAttribute("cx", places[use][0]);
        circle.setAttribute("cy", -places[use][1]);
      });
      if (part < 1) requestAnimationFrame(frame);
    };
    if (from === to) frame(Infinity); else requestAnimationFrame(frame);
  }

  function together(use) {
    const [x, y] = data.points[layer][use];
    return data.points[layer].filter(([a, b]) => Math.hypot(a - x, b - y) < 0.004).length - 1;
  }

  function show(use, event) {
    const others = together(use);
    tip.replaceChildren(sentence(use));
    const place = `${data.uses[use].file}, line ${count(data.uses[use].line)}`;
    tip.append(element("small", {
      textContent: others ? `${place}; ${count(others)} more at this place` : place,
    }));
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = Math.min(event.clientX + 14, innerWidth - box.width - 8);
    const below = event.clientY + 18;
    const top = below + box.height > innerHeight - 8 ? event.clientY - box.height - 12 : below;
    tip.style.left = `${Math.max(left, 8)}px`;
    tip.style.top = `${Math.max(top, 8)}px`;
  }

  function choose(use) {
    chosen = use;
    // Above those that may hide it.
    if (use !== null) plot.append(circles[use]);
    refresh();
  }

  function row(use, cosine) {
    const made = element("li", {}, dot(data.cluster[use]));
    if (cosine !== undefined) {
      made.append(element("span", { className: "cosine", textContent: cosine.toFixed(3) }));
    }
    made.append(sentence(use));
    made.addEventListener("click", () => choose(use));
    made.addEventListener("pointerenter", () => circles[use].classList.add("near"));
    made.addEventListener("pointerleave", mark);
    return made;
  }

  function fill() {
    panel.replaceChildren();
    if (chosen !== null) {
      const back = element("button", { className: "back", textContent: "← clusters" });
      back.addEventListener("click", () => choose(null));
      panel.append(
        element("h2", {}, element("span", { textContent: "This use" }), back),
        element("ul", {}, row(chosen)),
        element("h2", {}, "Nearest uses",
          element("small", { textContent: `cosine, ${data.layers[layer]}` })),
        element("ul", {}, ...data.neighbors[layer][chosen].map(
          (use, i) => row(use, data.cosines[layer][chosen][i]))),
      );
      return;
    }
    data.clusters.forEach((cluster, number) => {
      const size = data.cluster.filter((other) => other === number).length;
      const button = element("button", { title: "show these alone" }, dot(number),
        element("span", { textContent: `${count(size)} uses` }));
      button.setAttribute("aria-pressed", only === number);
      button.addEventListener("click", () => {
        only = only === number ? null : number;
        refresh();
      });
      panel.append(
        element("h2", {}, button, element("small", { textContent: cluster.words.join(", ") })),
        element("ul", {}, ...cluster.typical.map((use) => row(use))),
      );
    });
  }

  function mark() {
    const near = chosen === null ? [] : data.neighbors[layer][chosen];
    circles.forEach((circle, use) => {
      const text = data.uses[use].text.join(" ").toLowerCase();
      circle.classList.toggle("chosen", use === chosen);
      circle.classList.toggle("near", near.includes(use));
      circle.classList.toggle("faint",
        (only !== null && data.cluster[use] !== only) || (query && !text.includes(query)));
    });
  }

  function refresh() {
    get("name").value = data.layers[layer];
    move();
    const different = new Set(data.points[layer].map(String)).size;
    get("note").textContent = total > 1 && different === 1
      ? "All uses are one point: this layer does not know the context."
      : "Click a point for its nearest uses.";
    mark();
    fill();
  }

  get("about").textContent = (total < data.found
    ? `${count(total)} of ${count(data.found)} uses, chosen at random`
    : `${count(total)} uses`) + `; colours are clusters by ${data.clusteredBy}`;
  slider.max = data.layers.length - 1;
  slider.value = layer = Math.max(data.layers.indexOf(data.clusteredBy), 0);
  places = data.points[layer];
  slider.addEventListener("input", () => {
    layer = Number(slider.value);
    tip.hidden = true;
    refresh();
  });
  get("search").addEventListener("input", (event) => {
    query = event.target.value.trim().toLowerCase();
    mark();
  });
  refresh();
})();
