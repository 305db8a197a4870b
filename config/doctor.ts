import './thread-pool-size.ts';
import { inspectService } from './programs/doctor.ts';

/** `npm run doctor`: checks the settings and what they depend on. */
process.exitCode = await inspectService(process.argv.slice(2), process, process.env);
