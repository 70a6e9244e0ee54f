import { type Command, command } from '../command.ts'
import { bashCompletion, zshCompletion } from '../completion.ts'
import { usageError } from '../errors.ts'

/** @param commands all other commands */
export function completionCommand(commands: readonly Command[]): Command {
  const completion: Command = command({
    name: 'completion',
    operands: '<bash|zsh>',
    help: 'Print a script that completes commands in bash or zsh. Load it with: source <(stowage completion bash)',
    options: {},
    async run({ output }, { operands: [shell] }) {
      const all = [...commands, completion]
      if (shell === 'bash') await output.print(bashCompletion(all).trimEnd().split('\n'))
      else if (shell === 'zsh') await output.print(zshCompletion(all).trimEnd().split('\n'))
      else throw usageError('Give the name of the shell: bash or zsh.')
    },
  })
  return completion
}
