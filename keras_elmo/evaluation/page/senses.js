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
    circle.style.fill = data.clusters[data.cluster[use]].color;
    circle.addEventListener("pointermove", (event) => show(use, event));
    circle.addEventListener("pointerleave", () => { tip.hidden = true; });
    circle.addEventListener("click", () => choose(chosen === use ? null : use));
    plot.append(circle);
    return circle;
  });

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
    circles.forEach((circle, use) => {
      const [x, y] = data.points[layer][use];
      circle.style.transform = `translate(${x}px, ${-y}px)`;
    });
    const places = new Set(data.points[layer].map(String)).size;
    get("note").textContent = total > 1 && places === 1
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
