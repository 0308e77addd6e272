// The page of the keys of this browser: makes them, shows their public parts, and asks for them to be enrolled.

import { hex, ownKey, ownPasskey, result, store } from "/key.js";
import { at, hearNews } from "/page.js";

async function makeKey() {
  const pair = await crypto.subtle.generateKey({ name: "Ed25519" }, false, ["sign", "verify"]);
  await result((await store("readwrite")).add(pair, "own"));
}

async function makePasskey() {
  const random = (size) => crypto.getRandomValues(new Uint8Array(size));
  const credential = await navigator.credentials.create({
    publicKey: {
      rp: { id: location.hostname, name: "wf" },
      user: { id: random(16), name: "wf", displayName: "wf" },
      challenge: random(32),
      pubKeyCredParams: [{ type: "public-key", alg: -7 }],
      authenticatorSelection: { userVerification: "required" },
    },
  });
  const passkey = { id: credential.rawId, spki: credential.response.getPublicKey() };
  await result((await store("readwrite")).add(passkey, "passkey"));
}

const isAddress = () => /^[\d.]+$|^\[/.test(location.hostname);

// Shows the public part of a key, or the button that makes one.
async function show(name, text) {
  document.getElementById(`${name}-public`).textContent = text ?? "";
  const asked = [...document.querySelectorAll("#asked-keys [data-key]")].find((row) => row.dataset.key === text);
  document.getElementById(`${name}-command`).textContent = text ? `wf key enrol NAME ${asked?.dataset.words ?? text}` : "";
  document.getElementById(`${name}-value`).value = text ?? "";
  document.getElementById(`${name}-ask`).hidden = Boolean(asked);
  document.getElementById(`${name}-asked`).hidden = !asked;
  document.getElementById(name).hidden = !text;
  document.getElementById(`${name}-make`).hidden = Boolean(text);
  if (text) {
    await showPlaces(name, text);
  }
}

// Shows what the server knows of a key: where it is enrolled, and as whom.
async function showPlaces(name, text) {
  const headers = { Accept: "application/json" };
  const answer = await fetch(`${at("/keys")}?key=${encodeURIComponent(text)}`, { credentials: "same-origin", headers });
  const known = answer.ok ? (await answer.json()).known : null;
  const show = (part, value) => { document.getElementById(`${name}-${part}`).textContent = value ?? ""; };
  show("place", known?.places.join(" ") ?? "Whether it is enrolled could not be asked: load the page again.");
  // In another workspace, it may still be wanted.
  document.getElementById(`${name}-how`).hidden = Boolean(known?.is_enrolled) && known.places.length === 1;
  show("words", known?.words);
  show("digest", known?.digest);
}

async function showAll() {
  const pair = await ownKey();
  await show("key", pair && hex(await crypto.subtle.exportKey("raw", pair.publicKey)));
  if (!isAddress() && globalThis.PublicKeyCredential) {
    const passkey = await ownPasskey();
    // The point is the end of the DER form.
    await show("passkey", passkey && `passkey:${location.hostname}:${hex(passkey.spki.slice(-65))}`);
  } else {
    document.getElementById("passkey-none").hidden = false;
  }
}

function start() {
  const problem = document.getElementById("problem");
  if (!globalThis.crypto?.subtle) {
    problem.textContent = "This browser signs only at an encrypted address, or at localhost.";
    return;
  }
  const failed = (error) => { problem.textContent = `This browser cannot keep a key: ${error.message || error}`; };
  const make = (id, maker) => document.getElementById(id).addEventListener("click", () => {
    problem.textContent = "";
    maker().then(showAll).catch(failed);
  });
  make("key-make", makeKey);
  make("passkey-make", makePasskey);
  const showNow = () => showAll().catch(failed);
  showNow();
  // The server says who asks, with which the page changes, and who is enrolled, which is asked for.
  document.addEventListener("replaced", showNow);
  hearNews(showNow);
}

start();
