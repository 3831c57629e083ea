// How long things take, and how that is told to whoever started the script.

/// Milliseconds since the epoch, with fractions.
export const now = () => performance.timeOrigin + performance.now();

/// Works a round off as often as asked, and tells the seconds that each took, a line each.
export async function rounds(number, prepare, work) {
  for (let round = 0; round < number; round += 1) {
    await prepare();
    const begun = now();
    await work();
    console.log((now() - begun) / 1_000);
  }
}

export const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
