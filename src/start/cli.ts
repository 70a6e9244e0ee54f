const usage = `Usage: stowage                    start the server
       stowage doctor            check the settings, the database, the disks and the storages, and say what to change
       stowage apply [--plan] <file.yaml>
                                 make the workspace what a file declares; --plan only shows the differences
       stowage backup <folder>   copy the embedded database and the secret into a new folder; the server may be running
       stowage copy-database <url | embedded>
                                 copy the database into an empty PostgreSQL, or into the embedded one; stop the server first
       stowage reset-factors <email>
                                 remove the second factors of somebody who has lost them; the server may be running
       stowage adapter test <type or package> --config <file.json> [--only <text>] [--entries <number>]
           [--refuses <pattern>] [--folds-case] [--create-races] [--no-reopen] [--folder <property>]
           [--faults <names>] [--badge <file.svg>]
                                 run the conformance kit of adapters against the back end of a configuration
       stowage <command>         work with the files of a server, also of another machine
       stowage --help            this text

The settings of the server come from the environment.
`

/** The commands that run on the machine of the server. */
const operatorCommands: ReadonlySet<string> = new Set([
  'doctor',
  'apply',
  'backup',
  'copy-database',
  'reset-factors',
  'adapter',
])

/** Runs a command and returns the exit status. */
export async function run(args: readonly string[]): Promise<number> {
  const [command] = args
  // Each part loads only what it needs.
  if (command === undefined || operatorCommands.has(command)) {
    const { runServerCommand } = await import('./server-commands.ts')
    const status = await runServerCommand(args, process.env)
    if (status === null) process.stderr.write(usage)
    return status ?? 2
  }
  const commandLine = await import('../../packages/cli/src/index.ts')
  if (['--help', '-h', 'help'].includes(command)) {
    process.stdout.write(`${usage}\nCommands:\n${commandLine.overview()}`)
    return 0
  }
  return commandLine.run(args, process.env)
}
