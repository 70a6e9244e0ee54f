import type { ConfigSchema, SetupStep } from '../../adapters/contract.ts'

/** The maximum number of steps, options or choices in a list, so that the form stays readable. */
const maxItems = 12

/** Checks what a schema says about its form. @throws Error that names the fault */
export function checkForm({ properties, steps, choices }: ConfigSchema): void {
  checkSteps(steps)
  for (const choice of listOf(choices, 'choices')) {
    const options = listOf(choice?.options, 'options')
    if (typeof choice?.title !== 'string' || options.length < 2) {
      throw new Error('a choice needs a title and at least two options')
    }
    for (const option of options) {
      if (typeof option?.title !== 'string') throw new Error(`an option of "${choice.title}" has no title`)
      const own = listOf(option.properties, 'properties', Number.POSITIVE_INFINITY)
      const names = [...own, ...Object.keys(option.values ?? {})]
      const unknown = names.find(name => !Object.hasOwn(properties, name))
      if (unknown !== undefined)
        throw new Error(`the option "${option.title}" names a property "${unknown}" that is not there`)
      const foreign = (option.required ?? []).find(name => !own.includes(name))
      if (foreign !== undefined)
        throw new Error(`the option "${option.title}" requires "${foreign}", which is not among its properties`)
      checkSteps(option.steps)
    }
  }
}

function checkSteps(steps: readonly SetupStep[] | undefined): void {
  for (const step of listOf(steps, 'steps')) {
    if (typeof step?.text !== 'string') throw new Error('a step has no text')
    if (step.link === undefined) continue
    // The console makes a link of it.
    const isSafe = typeof step.link.title === 'string' && URL.parse(step.link.url)?.protocol === 'https:'
    if (!isSafe) throw new Error(`the link of the step "${step.text}" needs a title and an https address`)
  }
}

function listOf<Item>(value: readonly Item[] | undefined, name: string, max = maxItems): readonly Item[] {
  if (value === undefined) return []
  if (!Array.isArray(value) || value.length > max) throw new Error(`its ${name} are not a list of at most ${max}`)
  return value
}
