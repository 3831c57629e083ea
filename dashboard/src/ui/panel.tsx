/** Panels and tables: what pages are laid out with. */
import { type ComponentProps, type ReactNode, useEffect } from "react";
import { classes } from "@/lib/classes";

interface PanelProps {
  title?: string;
  aside?: ReactNode;
  children: ReactNode;
  className?: string;
}

export function Panel({ title, aside, children, className }: PanelProps) {
  return (
    <section className={classes("min-w-0 rounded-lg border bg-surface", className)} aria-label={title}>
      {title && (
        <div className="flex min-h-11 flex-wrap items-center justify-between gap-x-4 gap-y-1 border-b px-4 py-1.5">
          <h2 className="font-semibold text-sm">{title}</h2>
          {aside && <div className="flex items-center gap-2 text-faint text-xs">{aside}</div>}
        </div>
      )}
      {children}
    </section>
  );
}

interface PageHeadProps {
  title: ReactNode;
  /** What the browser calls the page, where the title is more than text. */
  name?: string;
  lead?: ReactNode;
  children?: ReactNode;
}

export function PageHead({ title, name, lead, children }: PageHeadProps) {
  const called = name ?? (typeof title === "string" ? title : undefined);
  useEffect(() => {
    document.title = called ? `${called} · Chronos` : "Chronos";
  }, [called]);
  return (
    <header className="mb-5 flex flex-wrap items-center justify-between gap-x-6 gap-y-3">
      <div className="min-w-0">
        <h1 className="wrap-anywhere font-semibold text-xl tracking-tight">{title}</h1>
        {lead && <p className="mt-0.5 text-sm text-soft">{lead}</p>}
      </div>
      {children && <div className="flex flex-wrap items-center gap-2">{children}</div>}
    </header>
  );
}

/** A table that scrolls by itself where it does not fit. */
export function Table({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled by keyboard
    <section aria-label={label} tabIndex={0} className="relative overflow-x-auto">
      <table className="w-full border-collapse text-left text-sm">{children}</table>
    </section>
  );
}

export function Th({ className, ...rest }: ComponentProps<"th">) {
  return (
    <th
      scope="col"
      {...rest}
      className={classes(
        "whitespace-nowrap border-b px-3 py-2 font-medium text-faint text-xs first:pl-4 last:pr-4",
        className,
      )}
    />
  );
}

export function Td({ className, ...rest }: ComponentProps<"td">) {
  return (
    <td
      {...rest}
      className={classes("border-line border-b px-3 py-2 align-middle first:pl-4 last:pr-4", className)}
    />
  );
}

export function Tr({ className, ...rest }: ComponentProps<"tr">) {
  return <tr {...rest} className={classes("hover:bg-hover [tbody>&:last-child>td]:border-b-0", className)} />;
}

/** Facts as pairs. */
export function Facts({ children }: { children: ReactNode }) {
  return <dl className="grid grid-cols-[minmax(7rem,auto)_1fr] gap-x-6 gap-y-2.5 p-4 text-sm">{children}</dl>;
}

export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-faint">{name}</dt>
      <dd className="wrap-anywhere min-w-0">{children}</dd>
    </>
  );
}
