/** The folders of the XDG Base Directory Specification: https://specifications.freedesktop.org/basedir-spec/. */
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

/** The environment variables that the command line reads. */
export type Environment = Readonly<Record<string, string | undefined>>

export function configFolder(environment: Environment): string {
  return join(baseFolder(environment.XDG_CONFIG_HOME, '.config'), 'stowage')
}

export function stateFolder(environment: Environment): string {
  return join(baseFolder(environment.XDG_STATE_HOME, '.local/state'), 'stowage')
}

/** The specification says to ignore relative paths. */
function baseFolder(given: string | undefined, otherwise: string): string {
  return given !== undefined && isAbsolute(given) ? given : join(homedir(), otherwise)
}
