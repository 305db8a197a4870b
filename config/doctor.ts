import { runDoctor } from '../adapters/cli/run-doctor.ts';
import { programVersion } from '../adapters/system/program-version.ts';
import { openInspections } from './open-inspections.ts';

/** `npm run doctor`: checks the settings and what they depend on. */
process.exitCode = await runDoctor(process.argv.slice(2), process, {
  inspections: () => openInspections(process.env),
  version: programVersion(),
});
