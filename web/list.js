"use strict";
// The list asks for itself again, unless somebody is at it. A reload would take the focus away.
const every = 10000; // milliseconds
setInterval(async () => {
  const main = document.getElementById("main");
  if (document.hidden || main.querySelector(":focus") || !getSelection().isCollapsed) return;
  try {
    const answer = await fetch(location.href, { cache: "no-store" });
    if (!answer.ok) return;
    const next = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("main");
    if (next) main.replaceWith(next);
  } catch { /* the server has ended: what is there stays */ }
}, every);
