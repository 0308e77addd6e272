// The key of this browser: made here, kept here, not extractable.

// Returns the store of keys, inside a transaction.
function store(mode) {
  return new Promise((resolve, reject) => {
    const open = indexedDB.open("wf", 1);
    open.onupgradeneeded = () => open.result.createObjectStore("keys");
    open.onerror = () => reject(open.error);
    open.onsuccess = () => resolve(open.result.transaction("keys", mode).objectStore("keys"));
  });
}

function result(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

export const hex = (bytes) => [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");

// Returns the key pair of this browser; undefined if it has none.
export async function ownKey() {
  return result((await store("readonly")).get("own"));
}

async function makeKey() {
  const pair = await crypto.subtle.generateKey({ name: "Ed25519" }, false, ["sign", "verify"]);
  await result((await store("readwrite")).add(pair, "own"));
  return pair;
}

async function show(pair) {
  const digits = hex(await crypto.subtle.exportKey("raw", pair.publicKey));
  document.getElementById("public").textContent = digits;
  document.getElementById("command").textContent = `wf key enrol NAME ${digits}`;
  document.getElementById("key").hidden = false;
  document.getElementById("make").hidden = true;
}

async function start() {
  const problem = document.getElementById("problem");
  const make = document.getElementById("make");
  const failed = (error) => { problem.textContent = `This browser cannot keep a key: ${error.message || error}`; };
  if (!globalThis.crypto?.subtle) {
    problem.textContent = "This browser signs only at an encrypted address, or at 127.0.0.1 and localhost.";
    return;
  }
  try {
    const pair = await ownKey();
    if (pair) {
      await show(pair);
    }
    make.hidden = Boolean(pair);
    make.addEventListener("click", () => makeKey().then(show).catch(failed));
  } catch (error) {
    failed(error);
  }
}

if (document.getElementById("make")) {
  start();
}
