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
      if (shell === 'bash') await output.write(bashCompletion(all))
      else if (shell === 'zsh') await output.write(zshCompletion(all))
      else throw usageError('Give the name of the shell: bash or zsh.')
    },
  })
  return completion
}
