/** The exports of the package `stowage`, with which a program starts the server with its own settings. */
export { readSettings, type Settings, SettingsError } from './settings/index.ts'
export { start } from './start/start.ts'
