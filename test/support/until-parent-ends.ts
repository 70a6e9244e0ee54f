/**
 * Returns the arguments of `spawn` for a program that the kernel kills as soon as this process has ended in any way, so that a
 * test that crashes leaves no server behind. The program keeps the id and the pipes of the process that starts it.
 */
export function untilParentEnds(program: string, args: readonly string[] = []): [command: string, args: string[]] {
  return ['setpriv', ['--pdeathsig', 'KILL', '--', program, ...args]]
}
