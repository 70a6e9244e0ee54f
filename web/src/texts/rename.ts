import { catalog } from './catalog.ts'
import { formatCount } from './format.ts'

/** The dialog that renames several items. */
export const texts = catalog('rename', {
  title: (count: number) => `Rename ${formatCount(count, 'item')}`,
  rule: 'New names',
  rules: { replace: 'Find and replace', number: 'Number', add: 'Add text' },
  find: 'Find',
  replacement: 'Replace with',
  ignoreCase: 'Ignore upper and lower case',
  pattern: 'Pattern',
  suggestion: 'Item {n}',
  /** `number` and `name` are the placeholders for the number and for the present name. */
  patternHelp: (number: string, name: string) =>
    `${number} is the number, and ${name} the present name. Files keep their endings.`,
  start: 'First number',
  before: 'Before the name',
  after: 'After the name',
  endingsStay: 'Files keep their endings.',
  preview: 'Preview',
  present: 'Present name',
  renamed: 'New name',
  clash: 'This name is taken.',
  invalid: 'This name is not possible.',
  changes: (count: number, total: number) =>
    count === 0 ? 'No name changes.' : `${count} of ${formatCount(total, 'name changes', 'names change')}.`,
  problems: (count: number) =>
    `${formatCount(count, 'name is taken or not possible', 'names are taken or not possible')}. Change the rule to continue.`,
  loading: 'The folder is still loading. The names that it has are needed to find those that are taken.',
  done: (count: number) => `${formatCount(count, 'item was', 'items were')} renamed`,
  doneCount: 'Renamed',
})
