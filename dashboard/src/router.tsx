/** Which page is where. Pages are loaded when they are first opened. */
import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import type { JobFilter } from "./api/queries";
import { Shell } from "./pages/shell";
import { Empty, Failed, Loading } from "./ui/states";

const root = createRootRoute({
  component: Shell,
  notFoundComponent: () => <Empty title="There is no such page">The address may be mistyped.</Empty>,
});

const home = createRoute({
  getParentRoute: () => root,
  path: "/",
  component: lazyRouteComponent(() => import("./pages/home"), "Home"),
});

const TEXTS = [
  "status",
  "name",
  "tag",
  "owner",
  "next_run_after",
  "next_run_before",
  "sort",
  "cursor",
] as const;

function readFilter(search: Record<string, unknown>): JobFilter {
  const filter: JobFilter = {};
  for (const key of TEXTS) {
    const value = search[key];
    // What looks like a number was read as one.
    if (typeof value === "string" || typeof value === "number") filter[key] = String(value);
  }
  if (typeof search.recurring === "boolean") filter.recurring = search.recurring;
  return filter;
}

const jobsRoute = createRoute({
  getParentRoute: () => root,
  path: "/jobs",
  validateSearch: readFilter,
  component: lazyRouteComponent(() => import("./pages/jobs"), "Jobs"),
});

const jobRoute = createRoute({
  getParentRoute: () => root,
  path: "/jobs/$id",
  component: lazyRouteComponent(() => import("./pages/job"), "Job"),
});

const newRoute = createRoute({
  getParentRoute: () => root,
  path: "/jobs/new",
  validateSearch: ({ from }): { from?: string } => (typeof from === "string" ? { from } : {}),
  component: lazyRouteComponent(() => import("./pages/form"), "NewJobPage"),
});

const editRoute = createRoute({
  getParentRoute: () => root,
  path: "/jobs/$id/edit",
  component: lazyRouteComponent(() => import("./pages/form"), "EditJobPage"),
});

const executionRoute = createRoute({
  getParentRoute: () => root,
  path: "/executions/$id",
  component: lazyRouteComponent(() => import("./pages/execution"), "Execution"),
});

const deadLettersRoute = createRoute({
  getParentRoute: () => root,
  path: "/dead-letters",
  component: lazyRouteComponent(() => import("./pages/dead-letters"), "DeadLetters"),
});

const quietHoursRoute = createRoute({
  getParentRoute: () => root,
  path: "/quiet-hours",
  component: lazyRouteComponent(() => import("./pages/quiet-hours"), "QuietHours"),
});

const eventsRoute = createRoute({
  getParentRoute: () => root,
  path: "/events",
  validateSearch: ({ job, tag }): { job?: string; tag?: string } => ({
    ...(typeof job === "string" && { job }),
    ...((typeof tag === "string" || typeof tag === "number") && { tag: String(tag) }),
  }),
  component: lazyRouteComponent(() => import("./pages/events"), "Events"),
});

const AUDIT = ["job", "kind", "actor", "owner", "trace_id", "since", "until"] as const;
export type AuditFilter = Partial<Record<(typeof AUDIT)[number], string>>;

const auditRoute = createRoute({
  getParentRoute: () => root,
  path: "/audit",
  validateSearch: (search): AuditFilter => {
    const filter: AuditFilter = {};
    for (const key of AUDIT) {
      const value = search[key];
      if (typeof value === "string" || typeof value === "number") filter[key] = String(value);
    }
    return filter;
  },
  component: lazyRouteComponent(() => import("./pages/audit"), "Audit"),
});

const historyRoute = createRoute({
  getParentRoute: () => root,
  path: "/history",
  validateSearch: ({ node, q }): { node?: string; q?: string } => ({
    ...(typeof node === "string" && { node }),
    ...((typeof q === "string" || typeof q === "number") && { q: String(q) }),
  }),
  component: lazyRouteComponent(() => import("./pages/history"), "History"),
});

const subscriptionsRoute = createRoute({
  getParentRoute: () => root,
  path: "/subscriptions",
  component: lazyRouteComponent(() => import("./pages/subscriptions"), "Subscriptions"),
});

const workersRoute = createRoute({
  getParentRoute: () => root,
  path: "/workers",
  component: lazyRouteComponent(() => import("./pages/workers"), "Workers"),
});

const peopleRoute = createRoute({
  getParentRoute: () => root,
  path: "/people",
  component: lazyRouteComponent(() => import("./pages/people"), "People"),
});

export const router = createRouter({
  routeTree: root.addChildren([
    home,
    jobsRoute,
    newRoute,
    jobRoute,
    editRoute,
    executionRoute,
    deadLettersRoute,
    quietHoursRoute,
    eventsRoute,
    auditRoute,
    historyRoute,
    subscriptionsRoute,
    workersRoute,
    peopleRoute,
  ]),
  basepath: "/ui",
  defaultPreload: "intent",
  defaultPendingComponent: () => <Loading />,
  defaultErrorComponent: ({ error, reset }) => <Failed error={error} retry={reset} />,
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
