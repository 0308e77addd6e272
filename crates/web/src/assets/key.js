// The keys of this browser: kept here, not extractable. A passkey is kept by the device, which asks its user before each signature;
// the browser remembers its public part.

// Returns the store of keys, inside a transaction.
export function store(mode) {
  return new Promise((resolve, reject) => {
    const open = indexedDB.open("wf", 1);
    open.onupgradeneeded = () => open.result.createObjectStore("keys");
    open.onerror = () => reject(open.error);
    open.onsuccess = () => resolve(open.result.transaction("keys", mode).objectStore("keys"));
  });
}

export function result(request) {
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

// Returns the public part of the passkey, and the id under which the device knows it; undefined if there is none.
export async function ownPasskey() {
  return result((await store("readonly")).get("passkey"));
}
