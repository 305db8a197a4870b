/** The same work, which runs once for all who ask for it at the same time. The argument of the first one counts. */
export function onceAtATime<Argument, Outcome>(
  work: (argument: Argument) => Promise<Outcome>,
): (argument: Argument) => Promise<Outcome> {
  let running: Promise<Outcome> | undefined;
  return (argument) => {
    running ??= work(argument).finally(() => {
      running = undefined;
    });
    return running;
  };
}
