// Looks at a page of the manual: what test/site judges.
(() => {
  const width = document.documentElement.clientWidth;
  const visible = (e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && e.getClientRects().length > 0;
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });

  // The red, green, blue and opacity of a colour in any notation.
  const parts = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], below) => [r, g, b].map((c, i) => c * a + below[i] * (1 - a));

  // What is behind an element.
  const behind = (e) => {
    const layers = [];
    for (let at = e; at; at = at.parentElement) {
      const colour = parts(getComputedStyle(at).backgroundColor);
      layers.push(colour);
      if (colour[3] === 1) break;
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const luminance = (colour) => {
    const [r, g, b] = colour.map((c) => ((c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };

  const pale = new Map();
  const tiny = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const e = node.parentElement;
    const text = node.textContent.trim();
    if (!text || e.closest("svg, script, style, noscript") || !visible(e)) continue;
    const style = getComputedStyle(e);
    const size = parseFloat(style.fontSize);
    const ground = behind(e);
    const a = luminance(over(parts(style.color), ground));
    const b = luminance(ground);
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const key = `${e.tagName.toLowerCase()}.${e.className} ${style.color} on ${ground.map(Math.round)}`;
    if (contrast < (large ? 3 : 4.5) && !pale.has(key)) pale.set(key, `${contrast.toFixed(2)} ${key}: ${text.slice(0, 40)}`);
    if (size < 10 && !tiny.has(key)) tiny.set(key, `${size}px ${key}: ${text.slice(0, 40)}`);
  }

  // Elements beyond the right edge, unless something around them scrolls.
  const wide = [...document.querySelectorAll("main *")].filter((e) => {
    if (!visible(e) || e.getBoundingClientRect().right <= width + 1) return false;
    for (let at = e.parentElement; at; at = at.parentElement) {
      if (["auto", "scroll", "hidden"].includes(getComputedStyle(at).overflowX)) return false;
    }
    return true;
  });
  return {
    width: document.documentElement.scrollWidth,
    wide: wide.slice(0, 5).map((e) => `${e.tagName}.${e.getAttribute("class") ?? ""}`),
    scheme: document.body.getAttribute("data-md-color-scheme"),
    pale: [...pale.values()],
    tiny: [...tiny.values()],
    links: [...document.querySelectorAll("a[href]")].map((a) => a.href),
    ids: [...document.querySelectorAll("[id]")].map((e) => e.id),
    tabs: document.querySelectorAll(".tabbed-set").length,
    diagrams: document.querySelectorAll("svg.diagram").length,
  };
})();
