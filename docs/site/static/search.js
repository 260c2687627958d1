// Rank what Sphinx's search has found, and show where a page says it. PAGES holds the texts.
"use strict";

const QUERY = (new URLSearchParams(location.search).get("q") ?? "").trim().toLowerCase();

// A word in the singular and in the plural; several words as they were typed.
const STEM = QUERY.replace(/s$/, "");

const timesIn = (text) => (STEM ? text.toLowerCase().split(STEM).length - 1 : 0);

// Guides come before references, and pages that say it often before those that mention it.
Scorer.score = ([page, title, , , score]) => {
  const inTitle = title.toLowerCase().includes(STEM) ? 5 : 0;
  return score + inTitle + 3 * Math.log2(1 + timesIn(PAGES[page].text)) - 3 * PAGES[page].rank;
};

// Where the text of a result begins: at the heading of its section, or at what it says of a name.
const beginning = (text, title) => {
  const last = title.split(/ > |\./).pop();
  const told = text.search(new RegExp(`\\b${literally(last)} \\p{Lu}`, "u"));
  return Math.max(told, 0);
};

const literally = (words) => words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

// Some twenty words around the first place that says it; the place is marked.
const excerpt = (text, title) => {
  const from = beginning(text, title);
  const lower = text.toLowerCase();
  const [word] = STEM.split(/\s+/);
  const places = [STEM, word].map((each) => lower.indexOf(each, from + title.length));
  const place = places.find((each) => each >= 0) ?? from;
  const start = text.lastIndexOf(" ", Math.max(place - 80, from)) + 1;
  const end = text.indexOf(" ", Math.min(place + 140, text.length - 1));
  const cut = text.slice(start, end < 0 ? text.length : end);
  const shown = document.createElement("p");
  shown.className = "excerpt";
  const words = STEM.split(/\s+/).map(literally).join("|");
  cut.split(new RegExp(`(${words})`, "iu")).forEach((part, i) => {
    const node = document.createElement(i % 2 ? "mark" : "span");
    node.textContent = part;
    shown.append(node);
  });
  shown.prepend(start ? "… " : "");
  shown.append(end < 0 ? "" : " …");
  return shown;
};

// Sphinx appends its results one by one.
new MutationObserver((changes) => {
  for (const item of changes.flatMap((change) => [...change.addedNodes])) {
    const link = item.nodeName === "LI" && item.querySelector("a");
    const page = link && link.getAttribute("href").replace(/\.html(#.*)?$/, "");
    if (page && PAGES[page]) item.append(excerpt(PAGES[page].text, link.innerText));
  }
}).observe(document.querySelector("#search-results"), { childList: true, subtree: true });
