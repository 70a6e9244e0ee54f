/** Prints scripts that complete commands, options and their values. Everything else is completed as a file name. */
import { allOptions, type Command, command } from '../command.ts'
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

type Table = Map<string, string[]>

interface Completions {
  /** The next words by the words of the command so far, such as `list` by `jobs`. */
  words: Table
  /** The options by the command. */
  options: Table
  /** The values by the command and the option before them. */
  values: Table
}

function completionsOf(commands: readonly Command[]): Completions {
  const words: Table = new Map()
  const options: Table = new Map([['', ['--help']]])
  const values: Table = new Map()
  for (const command of commands) {
    const parts = command.name.split(' ')
    for (const [index, part] of parts.entries()) add(words, parts.slice(0, index).join(' '), part)
    // An operand of fixed words, such as <bash|zsh>.
    const [, fixed] = /^<(\w+\|\w+)>$/.exec(command.operands) ?? []
    for (const word of fixed?.split('|') ?? []) add(words, command.name, word)
    for (const [name, { choices = [] }] of Object.entries(allOptions(command))) {
      add(options, command.name, `--${name}`)
      for (const choice of choices) add(values, `${command.name} --${name}`, choice)
    }
  }
  return { words, options, values }
}

function add(table: Table, key: string, word: string): void {
  const words = table.get(key) ?? []
  if (!words.includes(word)) table.set(key, [...words, word])
}

const quoted = (text: string) => `'${text}'`

/** Returns the branches of a `case` that set `candidates`. */
function branches(table: Table): string {
  return [...table].map(([key, words]) => `    ${quoted(key)}) candidates=${quoted(words.join(' '))} ;;`).join('\n')
}

/**
 * Returns the shell code that finds the candidates for `current`. `passed` holds the words before it, without `stowage`.
 * The code uses only features that bash and zsh have in common.
 */
function finder({ words, options, values }: Completions): string {
  return `  local chosen='' previous='' candidates='' word
  for word in "\${passed[@]}"; do
    case "$chosen\${chosen:+ }$word" in
      ${[...new Set([...words.keys(), ...options.keys()])]
        .filter(key => key !== '')
        .map(quoted)
        .join('|')})
        chosen="$chosen\${chosen:+ }$word" ;;
    esac
    previous=$word
  done
  case "$current" in
  -*) case "$chosen" in
${branches(options)}
  esac ;;
  *) case "$chosen" in
${branches(words)}
  esac ;;
  esac
  case "$chosen $previous" in
${branches(values)}
  esac
`
}

function bashCompletion(commands: readonly Command[]): string {
  return `# Completion of stowage for bash. Load it with: source <(stowage completion bash)
_stowage() {
  local current=\${COMP_WORDS[COMP_CWORD]} passed=("\${COMP_WORDS[@]:1:COMP_CWORD-1}")
${finder(completionsOf(commands))}  COMPREPLY=($(compgen -W "$candidates" -- "$current"))
}
complete -o default -o bashdefault -F _stowage stowage
`
}

function zshCompletion(commands: readonly Command[]): string {
  return `# Completion of stowage for zsh. Load it with: source <(stowage completion zsh)
_stowage() {
  local current=$words[CURRENT]
  local -a passed
  passed=("\${(@)words[2,CURRENT-1]}")
${finder(completionsOf(commands))}  if [[ -n $candidates ]]; then compadd -- \${=candidates}; else _files; fi
}
compdef _stowage stowage
`
}
