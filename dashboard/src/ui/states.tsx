/** What a page shows while there is nothing to show. */
import { CircleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { inWords } from "@/api/problem";
import { Button } from "./button";

/** Lines where rows will be. */
export function Loading({ rows = 6 }: { rows?: number }) {
  return (
    <div role="status" aria-label="Loading" className="space-y-3 p-4">
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all alike
        <div key={row} className="breathe h-4 rounded bg-sunken odd:w-full even:w-3/4" />
      ))}
    </div>
  );
}

export function Empty({ title, children, act }: { title: string; children?: ReactNode; act?: ReactNode }) {
  return (
    <div className="flex flex-col items-center gap-1.5 px-6 py-14 text-center">
      <p className="font-medium">{title}</p>
      {children && <p className="max-w-md text-balance text-sm text-soft">{children}</p>}
      {act && <div className="pt-3">{act}</div>}
    </div>
  );
}

export function Failed({ error, retry }: { error: unknown; retry?: () => void }) {
  return (
    <div role="alert" className="flex flex-col items-center gap-2 px-6 py-14 text-center">
      <CircleAlert className="size-5 text-bad" aria-hidden />
      <p className="max-w-md text-sm">{inWords(error)}</p>
      {retry && (
        <Button size="small" onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** Why something was not done. */
export function Refusal({ children }: { children: ReactNode }) {
  return (
    <p role="alert" className="wrap-anywhere rounded-md bg-bad-tint px-3 py-2 text-bad text-sm">
      {children}
    </p>
  );
}
