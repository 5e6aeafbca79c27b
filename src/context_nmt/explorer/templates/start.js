"use strict";

// Start the page with the data in it, or with a text that the user types.

function start() {
  addListeners();
  const form = byId("form");
  if (form) form.addEventListener("submit", sendText);
  const explored = JSON.parse(byId("data").textContent);
  if (explored) showText(explored);
}

/** Send the typed text to the server and show its answer. */
async function sendText(event) {
  event.preventDefault();
  const button = byId("form").querySelector("button");
  button.disabled = true;
  byId("error").textContent = "";
  byId("state").textContent = "translating …";
  try {
    const body = JSON.stringify({ text: byId("typed").value });
    const response = await fetch("explore", { method: "POST", headers: { "Content-Type": "application/json" }, body });
    const answer = await response.json();
    if (answer.error) byId("error").textContent = answer.error;
    else showText(answer);
  } catch (error) {
    byId("error").textContent = `The server does not answer: ${error.message}`;
  } finally {
    button.disabled = false;
    byId("state").textContent = "";
  }
}

start();
