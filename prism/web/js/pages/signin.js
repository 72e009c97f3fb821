// Ask for the token of a service that other hosts can reach; the browser keeps it as a cookie without script access.

import { h } from "../dom.js";

/** Asks for a token; calls `done()` once the service accepted it. */
export function signIn(source, done) {
  const said = h("p", { class: "notice lost", role: "alert", hidden: true });
  const field = h("input", { type: "password", id: "token", autocomplete: "current-password", required: true, spellcheck: "false" });
  const send = async (event) => {
    event.preventDefault();
    try {
      await source.signIn(field.value.trim());
      done();
    } catch (error) {
      said.textContent = error.status === 401 ? "▲ The service does not know this token." : `▲ ${error.message}`;
      said.hidden = false;
    }
  };
  const form = h("form", { class: "signin", onsubmit: send }, h("label", { for: "token" }, "Token"), field, h("button", { class: "primary", type: "submit" }, "Sign in"));
  const lead = h("p", { class: "note" }, "This service needs a token. Its operator creates one with prism token create");
  return { title: "Sign in", node: h("div", { class: "page" }, h("header", { class: "title" }, h("h1", {}, "Sign in"), lead), form, said) };
}
