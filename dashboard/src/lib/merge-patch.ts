/** What a merge patch (RFC 7396) says to make one thing of another. */

export type Json = Record<string, unknown>;

export function mergePatch(before: Json, after: Json): Json {
  const patch: Json = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [was, is] = [before[key], after[key]];
    if (is === undefined) {
      if (was !== undefined) patch[key] = null;
    } else if (JSON.stringify(was) !== JSON.stringify(is)) {
      // What changes its type says everything anew.
      const merges = isObject(was) && isObject(is) && was.type === is.type;
      patch[key] = merges ? mergePatch(was, is) : is;
    }
  }
  return patch;
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
