/** Buttons, and links that look like them. */
import { Slot } from "radix-ui";
import type { ComponentProps } from "react";
import { classes } from "@/lib/classes";

const KINDS = {
  primary: "bg-ink text-on-ink hover:opacity-90",
  plain: "border border-edge/50 bg-surface text-ink hover:bg-hover",
  quiet: "text-soft hover:bg-hover hover:text-ink",
  danger: "bg-bad-fill text-on-ink hover:opacity-90",
};

const SIZES = {
  normal: "h-8 px-3 text-sm",
  small: "h-7 px-2 text-xs",
  icon: "size-8 justify-center",
};

interface Props extends ComponentProps<"button"> {
  kind?: keyof typeof KINDS;
  size?: keyof typeof SIZES;
  /** Whether its only child, such as a link, is what is pressed. */
  asChild?: boolean;
}

export function Button({ kind = "plain", size = "normal", asChild, className, ...rest }: Props) {
  const Tag = asChild ? Slot.Root : "button";
  return (
    <Tag
      {...(asChild ? {} : { type: "button" as const })}
      {...rest}
      className={classes(
        "inline-flex shrink-0 items-center gap-1.5 whitespace-nowrap rounded-md font-medium transition-colors",
        "disabled:opacity-50 [&_svg]:size-4 [&_svg]:shrink-0",
        KINDS[kind],
        SIZES[size],
        className,
      )}
    />
  );
}
