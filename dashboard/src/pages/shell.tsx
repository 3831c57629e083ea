/** What is around every page: the way from one to the others, and whose they are. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import {
  CalendarClock,
  Gauge,
  History,
  KeyRound,
  LogOut,
  MailX,
  Menu as MenuIcon,
  Moon,
  MoonStar,
  Radio,
  ScrollText,
  Server,
  Sun,
  UserRound,
  UsersRound,
  Webhook,
  X,
} from "lucide-react";
import { type ComponentType, useEffect, useState } from "react";
import { api } from "@/api/client";
import { useLive } from "@/api/live";
import { me } from "@/api/queries";
import { useLost } from "@/api/reach";
import { forget } from "@/api/session";
import { classes } from "@/lib/classes";
import { Mark } from "@/parts/mark";
import { type May, useMay } from "@/parts/may";
import { Button } from "@/ui/button";
import { Item, Menu } from "@/ui/menu";

interface Place {
  to: string;
  name: string;
  icon: ComponentType<{ className?: string }>;
  /** Who is shown it; everyone, unless said. */
  for?: (may: May) => boolean;
}

const PLACES: Place[] = [
  { to: "/", name: "Overview", icon: Gauge, for: (may) => may.oversee },
  { to: "/jobs", name: "Jobs", icon: CalendarClock },
  { to: "/dead-letters", name: "Dead letters", icon: MailX },
  { to: "/events", name: "Events", icon: Radio },
  { to: "/audit", name: "Audit", icon: ScrollText },
  { to: "/history", name: "History", icon: History },
  { to: "/subscriptions", name: "Subscriptions", icon: Webhook },
  { to: "/quiet-hours", name: "Quiet hours", icon: MoonStar },
  { to: "/workers", name: "Workers", icon: Server, for: (may) => may.oversee },
  { to: "/people", name: "Users and keys", icon: UsersRound, for: (may) => may.admin },
];

export function Shell() {
  const [open, setOpen] = useState(false);
  const path = useRouterState({ select: (state) => state.location.pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: whoever went somewhere is done with the way, and goes on there
  useEffect(() => {
    setOpen(false);
    const main = document.getElementById("main");
    if (!main?.contains(document.activeElement)) main?.focus({ preventScroll: true });
  }, [path]);
  const lost = useLost();
  useLive(true);
  useSlash();
  return (
    <div className="min-h-screen lg:grid lg:grid-cols-[13.5rem_1fr]">
      <a
        href="#main"
        className="sr-only z-60 rounded bg-ink px-3 py-2 text-on-ink focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        Skip to content
      </a>
      <header className="sticky top-0 z-30 flex h-13 items-center justify-between border-b bg-ground px-4 lg:hidden">
        <Link to="/" aria-label="Chronos">
          <Mark />
        </Link>
        <Button
          kind="quiet"
          size="icon"
          aria-expanded={open}
          aria-label={open ? "Close navigation" : "Open navigation"}
          onClick={() => setOpen(!open)}
        >
          {open ? <X /> : <MenuIcon />}
        </Button>
      </header>
      <aside
        className={classes(
          "z-20 flex-col border-r bg-ground lg:sticky lg:top-0 lg:flex lg:h-screen",
          open ? "fixed inset-x-0 top-13 bottom-0 flex" : "hidden",
        )}
      >
        <div className="hidden px-4 pt-5 pb-4 lg:block">
          <Link to="/" aria-label="Chronos">
            <Mark />
          </Link>
        </div>
        <Places />
        <Whose />
      </aside>
      <main
        id="main"
        tabIndex={-1}
        className="mx-auto w-full min-w-0 max-w-[86rem] px-4 py-6 outline-none sm:px-6 lg:px-8"
      >
        {lost && (
          <p role="alert" className="mb-4 rounded-md bg-bad-tint px-3 py-2 text-bad text-sm">
            The scheduler does not answer. What is shown is from before; it is asked again by itself.
          </p>
        )}
        <Outlet />
      </main>
    </div>
  );
}

function Places() {
  const may = useMay();
  return (
    <nav aria-label="Pages" className="flex-1 space-y-0.5 overflow-y-auto p-2">
      {PLACES.filter((place) => place.for?.(may) ?? true).map(({ to, name, icon: Icon }) => (
        <Link
          key={to}
          to={to}
          activeOptions={{ exact: to === "/", includeSearch: false }}
          className="flex h-8 items-center gap-2.5 rounded-md px-2 text-sm text-soft hover:bg-hover hover:text-ink"
          activeProps={{ className: "bg-line/70 font-medium text-ink!" }}
        >
          <Icon className="size-4 shrink-0" />
          {name}
        </Link>
      ))}
    </nav>
  );
}

function Whose() {
  const may = useMay();
  const client = useQueryClient();
  const navigate = useNavigate();
  const { data } = useQuery(me);
  const leave = async () => {
    await api.POST("/auth/logout", { body: {} }).catch(() => undefined);
    forget();
    await client.invalidateQueries({ queryKey: me.queryKey });
  };
  return (
    <div className="flex items-center justify-between gap-2 border-t p-2">
      <Menu
        trigger={
          <button
            type="button"
            className="flex min-w-0 items-center gap-2 rounded-md px-2 py-1 text-left hover:bg-hover"
          >
            <UserRound className="size-4 shrink-0 text-faint" aria-hidden />
            <span className="min-w-0">
              <span className="block truncate font-medium text-sm">{may.name}</span>
              <span className="block text-faint text-xs leading-4">
                {data?.known_by === "local" ? "no users yet" : may.role}
              </span>
            </span>
          </button>
        }
      >
        {may.account && (
          <>
            <Item onSelect={() => navigate({ to: "/people" })}>
              <KeyRound /> Keys and password
            </Item>
            <Item onSelect={leave}>
              <LogOut /> Log out
            </Item>
          </>
        )}
        {!may.account && (
          <Item
            onSelect={() => {
              sessionStorage.removeItem("chronos.without-users");
              location.reload();
            }}
          >
            <UserRound /> Make the first user
          </Item>
        )}
      </Menu>
      <Theme />
    </div>
  );
}

function Theme() {
  const root = document.documentElement;
  const [theme, setTheme] = useState(root.dataset.theme);
  const other = theme === "dark" ? "light" : "dark";
  const change = () => {
    root.dataset.theme = other;
    localStorage.setItem("chronos.theme", other);
    setTheme(other);
  };
  return (
    <Button kind="quiet" size="icon" aria-label={`Show it ${other}`} onClick={change}>
      {theme === "dark" ? <Sun /> : <Moon />}
    </Button>
  );
}

/** The key / leads to the page's search, or to that of jobs where there is none, unless something is being written. */
function useSlash() {
  const navigate = useNavigate();
  useEffect(() => {
    const focus = () => document.querySelector<HTMLInputElement>("[data-search]")?.focus();
    const press = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.key !== "/" || event.ctrlKey || event.metaKey) return;
      if (target.matches("input, textarea, select, [contenteditable]")) return;
      event.preventDefault();
      if (document.querySelector("[data-search]")) focus();
      else void navigate({ to: "/jobs" }).then(() => requestAnimationFrame(focus));
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [navigate]);
}
