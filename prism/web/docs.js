// The description of the API as a page: operations, parameters, answers, schemas; GET can be tried with the session's cookie.

const main = document.getElementById("main");

function made(name, text, ...children) {
  const node = document.createElement(name);
  if (text) node.textContent = text;
  node.append(...children);
  return node;
}

function table(headings, rows) {
  const cells = (name, row) => made("tr", "", ...row.map((one) => (one instanceof Node ? made(name, "", one) : made(name, one))));
  return made("table", "", cells("th", headings), ...rows.map((row) => cells("td", row)));
}

function typed(schema = {}) {
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.anyOf) return schema.anyOf.map(typed).join(" | ");
  if (schema.enum) return schema.enum.join(" | ");
  if (schema.type === "array") return `${typed(schema.items)}[]`;
  return [schema.type, schema.format].filter(Boolean).join(", ");
}

function shown(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

function trial(path, parameters) {
  const inputs = parameters.map((one) => {
    const input = made("input");
    input.setAttribute("aria-label", one.name);
    input.placeholder = one.required ? "required" : "";
    return [one, input];
  });
  const out = made("pre");
  out.hidden = true;
  const form = made("form", "", table(["Parameter", "Type", "Description", "Value"],
    inputs.map(([one, input]) => [made("code", one.name), typed(one.schema), one.description ?? "", input])), made("button", "Send"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const query = new URLSearchParams();
    let target = path;
    for (const [one, input] of inputs) {
      if (one.in === "path") target = target.replace(`{${one.name}}`, encodeURIComponent(input.value));
      else if (input.value && one.in === "query") query.set(one.name, input.value);
    }
    out.hidden = false;
    const address = target + (query.size ? `?${query}` : "");
    try {
      const answer = await fetch(address, { headers: { Accept: "application/json" } });
      const text = await answer.text();
      out.textContent = `GET ${address}\n${answer.status} ${answer.statusText}\n\n${pretty(text).slice(0, 100000)}`;
    } catch {
      out.textContent = "The service does not answer.";
    }
  });
  return made("div", "", form, out);
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function operation(path, method, one) {
  const parameters = (one.parameters ?? []).filter((each) => each.in !== "header");
  const stream = Object.keys(one.responses[200]?.content ?? {}).includes("text/event-stream");
  const head = made("summary", "", made("b", method.toUpperCase()), made("code", path), made("span", one.summary ?? ""));
  const body = made("details", "", head, made("p", one.description ?? ""));
  if (method === "get" && !stream) body.append(trial(path, parameters));
  else if (parameters.length) body.append(table(["Parameter", "Type", "Description"], parameters.map((each) => [made("code", each.name), typed(each.schema), each.description ?? ""])));
  const answers = Object.entries(one.responses);
  body.append(made("h3", "Answers"), table(["Status", "Description", "Schema"],
    answers.map(([status, answer]) => [status, answer.description, typed(answer.content?.["application/json"]?.schema)])));
  const example = answers.map(([, answer]) => answer.content?.["application/json"]?.example).find(Boolean);
  if (example) body.append(made("h3", "Example"), made("pre", shown(example)));
  return body;
}

function schema(name, one) {
  const rows = Object.entries(one.properties ?? {}).map(([field, each]) => [made("code", field), typed(each), each.description ?? ""]);
  return made("details", "", made("summary", "", made("code", name), made("span", one.description ?? "")), table(["Field", "Type", "Description"], rows));
}

async function start() {
  const told = await (await fetch("openapi.json")).json();
  main.append(made("h1", `${told.info.title} API ${told.info.version}`), made("p", told.info.summary ?? ""), made("h2", "Operations"));
  for (const [path, ways] of Object.entries(told.paths)) for (const [method, one] of Object.entries(ways)) main.append(operation(path, method, one));
  main.append(made("h2", "Schemas"), ...Object.entries(told.components.schemas).map(([name, one]) => schema(name, one)));
  main.setAttribute("aria-busy", "false");
}

start().catch(() => main.append(made("p", "The description cannot be read. Reload the page.")));
