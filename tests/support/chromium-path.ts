import { existsSync } from 'node:fs';

/** The browser of the system. Without it, jest.config.js leaves the tests in a browser out. */
export const CHROMIUM_PATH = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium';

export const hasChromium = existsSync(CHROMIUM_PATH);
