/** Searching the history. */
import { infiniteQueryOptions } from "@tanstack/react-query";
import { here } from "@/lib/time";
import { api, done } from "./client";
import type { components } from "./schema";

type Schemas = components["schemas"];
export type Hit = Schemas["SearchHit"];
export type Fragment = Schemas["TextFragment"];
export type Tally = Schemas["SearchTally"];

/** Things of a page. */
const PAGE = 30;

export const search = (q: string) =>
  infiniteQueryOptions({
    queryKey: ["search", q],
    queryFn: ({ pageParam }) => {
      const query = { query: q, tz: here, limit: PAGE, cursor: pageParam };
      return done(api.GET("/history/search", { params: { query } }));
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    staleTime: 10_000,
    retry: false,
  });
