/** Whether the scheduler answers. */
import { useSyncExternalStore } from "react";

let lost = false;
const listeners = new Set<() => void>();

function set(next: boolean) {
  if (lost === next) return;
  lost = next;
  for (const listener of listeners) listener();
}

/** Sends a request, and notes whether anybody was there. */
export async function send(request: Request): Promise<Response> {
  try {
    const response = await fetch(request);
    set(false);
    return response;
  } catch (error) {
    // Whoever no longer wants an answer knows nothing about who would have given it.
    if (!request.signal.aborted) set(true);
    throw error;
  }
}

export function useLost(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => lost,
  );
}
