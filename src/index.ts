/** What the package `stowage` offers to programs: the server, started with settings of their own. */
export { readSettings, type Settings, SettingsError } from './settings.ts'
export { start } from './start.ts'
