/** The login of this browser: kept across loads, shared by its tabs, renewed by one of them at a time. */
import { useSyncExternalStore } from "react";
import type { components } from "./schema";

type Login = components["schemas"]["Login"];

const KEY = "chronos.session";
/** A token this close to its end may not arrive before it. */
const MARGIN_MS = 30_000;

const listeners = new Set<() => void>();
let read: { text: string | null; login: Login | null } = { text: null, login: null };

export function session(): Login | null {
  const text = localStorage.getItem(KEY);
  if (text !== read.text) {
    let login: Login | null = null;
    try {
      login = text ? (JSON.parse(text) as Login) : null;
    } catch {
      // What cannot be read lets nobody in.
    }
    read = { text, login };
  }
  return read.login;
}

export function keep(login: Login) {
  localStorage.setItem(KEY, JSON.stringify(login));
  tell();
}

export function forget() {
  localStorage.removeItem(KEY);
  tell();
}

export function useSession(): Login | null {
  return useSyncExternalStore(listen, session);
}

function tell() {
  for (const listener of listeners) listener();
}

function listen(listener: () => void) {
  listeners.add(listener);
  addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    removeEventListener("storage", listener);
  };
}

/** A token that is good for now, if there is a login. */
export async function token(): Promise<string | undefined> {
  const login = session();
  if (!login) return undefined;
  return isFresh(login) ? login.token : renew(login);
}

/** Goes on with a login that a token of is no longer taken. */
export async function renew(stale: Login): Promise<string | undefined> {
  return alone(async () => {
    const login = session();
    if (!login) return undefined;
    // Another tab, or another request, may have been first: a refresh token that comes again ends the login.
    if (login.refresh_token !== stale.refresh_token) return login.token;
    const response = await fetch("/auth/refresh", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ refresh_token: login.refresh_token }),
    });
    if (response.ok) {
      const next = (await response.json()) as Login;
      keep(next);
      return next.token;
    }
    if (response.status === 401) forget();
    return undefined;
  });
}

function isFresh(login: Login) {
  return Date.parse(login.expires_at) - Date.now() > MARGIN_MS;
}

let last: Promise<unknown> = Promise.resolve();

/** Runs one renewal at a time: in this browser, or where it has no locks for tabs, in this tab. */
function alone<T>(work: () => Promise<T>): Promise<T> {
  if (navigator.locks) return navigator.locks.request("chronos.renew", work) as Promise<T>;
  const next = last.then(work, work);
  last = next.catch(() => undefined);
  return next;
}
