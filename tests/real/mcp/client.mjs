// Calls tools of a server, and prints what it learned as JSON: the versions, the tools, and the result of each call.
//
//     node client.mjs 'CALLS' PROGRAM ARGUMENT…
//
// CALLS is a list of [tool, arguments]. `$RUN` in arguments stands for the run that an earlier call started.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [calls, command, ...args] = process.argv.slice(2);
const client = new Client({ name: "real-client", version: "1" });
await client.connect(new StdioClientTransport({ command, args, cwd: process.cwd(), env: process.env }));
const { tools } = await client.listTools();
let run = "";
const results = [];
for (const [name, given] of JSON.parse(calls)) {
  const words = JSON.parse(JSON.stringify(given).replaceAll("$RUN", run));
  const result = await client.callTool({ name, arguments: words });
  const named = result.structuredContent?.run;
  run = typeof named === "string" ? named : run;
  results.push(result);
}
const server = client.getServerVersion();
await client.close();
console.log(JSON.stringify({ server, tools: tools.map((tool) => tool.name), results }));
