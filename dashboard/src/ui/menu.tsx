/** A menu of further actions. */
import { DropdownMenu as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { classes } from "@/lib/classes";

export function Menu({ trigger, children }: { trigger: ReactNode; children: ReactNode }) {
  return (
    <Radix.Root>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          align="end"
          sideOffset={4}
          className="z-50 min-w-44 rounded-md border bg-surface p-1 text-sm shadow-lg"
        >
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

interface ItemProps {
  children: ReactNode;
  onSelect: () => void;
  danger?: boolean;
  disabled?: boolean;
}

export function Item({ children, onSelect, danger, disabled }: ItemProps) {
  return (
    <Radix.Item
      disabled={disabled}
      onSelect={onSelect}
      className={classes(
        "flex select-none items-center gap-2 rounded px-2 py-1.5 outline-none data-highlighted:bg-hover",
        "data-disabled:opacity-50 [&_svg]:size-4 [&_svg]:text-faint",
        danger ? "text-bad" : "text-ink",
      )}
    >
      {children}
    </Radix.Item>
  );
}

export function Divider() {
  return <Radix.Separator className="my-1 h-px bg-line" />;
}
