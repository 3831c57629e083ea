/** What the API refuses with, and how it is told to people. */
import type { components } from "./schema";

type Told = components["schemas"]["Problem"];

export class Problem extends Error {
  override name = "Problem";
  readonly told: Told;

  constructor(told: Told) {
    super(told.detail);
    this.told = told;
  }

  get status() {
    return this.told.status;
  }

  /** What is wrong with each field, by its name. */
  get fields(): Record<string, string> {
    const fields: Record<string, string> = {};
    for (const { field, detail, accepted } of this.told.errors ?? []) {
      fields[field] ??= sentence(accepted ? `${detail}; accepted: ${accepted}` : detail);
    }
    return fields;
  }
}

/** An error in words for people. */
export function inWords(error: unknown): string {
  if (error instanceof Problem) return sentence(error.message);
  if (error instanceof TypeError) return "The scheduler does not answer. Is it running?";
  return error instanceof Error ? sentence(error.message) : "Something went wrong.";
}

export function fieldsOf(error: unknown): Record<string, string> {
  return error instanceof Problem ? error.fields : {};
}

function sentence(text: string) {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}
