import type { Environment } from './folders.ts'
import type { Output } from './output.ts'
import type { Server } from './remote/server.ts'

/** The tools that every command gets. */
export interface Context {
  environment: Environment
  /** Aborts when a signal interrupts the command. */
  signal: AbortSignal
  output: Output
  /** Returns the server with the credential of the environment, or else the stored one. @throws CommandError */
  connect(): Promise<Server>
}
