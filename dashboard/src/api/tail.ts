/** Live tails: what comes, newest first, after some of what came before. */
import { useEffect, useRef, useState } from "react";
import { follow, type State } from "./stream";

/** What is kept in sight. */
const KEPT = 500;
/** What came is shown this often at most, so that a flood leaves room for whoever reads. */
const SHOWN_EVERY_MS = 200;

export interface Source<T> {
  /** Where it is streamed. */
  path: string;
  /** What narrows it, beside where it begins. */
  query: Record<string, string>;
  keyOf: (item: T) => string;
  /** What came before the stream begins at this id, newest first. */
  before: (id: string) => Promise<T[]>;
}

export interface Tail<T> {
  /** Newest first. */
  items: T[];
  state: State;
  error: unknown;
}

export function useTail<T>(source: Source<T>, running: boolean): Tail<T> {
  const [items, setItems] = useState<T[]>([]);
  const [state, setState] = useState<State>("connecting");
  const [error, setError] = useState<unknown>();
  const last = useRef<string>(undefined);
  const current = useRef(source);
  current.current = source;
  const asked = `${source.path}?${new URLSearchParams(source.query)}`;

  // biome-ignore lint/correctness/useExhaustiveDependencies: another filter begins anew
  useEffect(() => {
    last.current = undefined;
    setItems([]);
  }, [asked]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: what is asked for says it all
  useEffect(() => {
    if (!running) return;
    const stop = new AbortController();
    const { path, query, keyOf, before } = current.current;
    let came: T[] = [];
    const show = () => {
      if (came.length === 0) return;
      const newest = came.reverse();
      came = [];
      setItems((shown) => {
        const seen = new Set<string>();
        const all = [...newest, ...shown].filter((item) => {
          const key = keyOf(item);
          return !seen.has(key) && Boolean(seen.add(key));
        });
        return all.slice(0, KEPT);
      });
    };
    const timer = setInterval(show, SHOWN_EVERY_MS);
    void follow(
      {
        path: () => `${path}?${new URLSearchParams({ ...query, after: last.current ?? "latest" })}`,
        onLine: async ({ id, data }) => {
          if (id !== undefined) {
            if (last.current === undefined) came.push(...(await before(id)).reverse());
            last.current = id;
          }
          if (data) came.push(JSON.parse(data) as T);
        },
        onState: (next, failure) => {
          setState(next);
          setError(next === "live" ? undefined : failure);
          if (next === "live" && came.length > 0 && document.hidden) show();
        },
        onLostPlace: () => {
          last.current = undefined;
        },
      },
      stop.signal,
    );
    return () => {
      stop.abort();
      clearInterval(timer);
      show();
    };
  }, [asked, running]);

  return { items, state, error };
}
