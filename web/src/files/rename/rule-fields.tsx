import { texts } from '../../texts/rename.ts'
import { Checkbox } from '../../ui/choices.tsx'
import { TextField } from '../../ui/field.tsx'
import type { Rule } from './plan.ts'

/** What people have entered for each kind of rule. It stays when they choose another kind. */
export type Drafts = { readonly [Kind in Rule['kind']]: Extract<Rule, { kind: Kind }> }

export const drafts: Drafts = {
  replace: { kind: 'replace', find: '', replacement: '', ignoresCase: false },
  number: { kind: 'number', pattern: texts.suggestion, start: 1 },
  add: { kind: 'add', before: '', after: '' },
}

const maxLength = 255
const maxStart = 999_999

/** The fields of one kind of rule. */
export function RuleFields({
  kind,
  rules,
  onChange,
}: {
  kind: Rule['kind']
  rules: Drafts
  onChange: (rules: Drafts) => void
}) {
  const field = { maxLength, autoComplete: 'off', spellCheck: 'false' } as const
  if (kind === 'replace') {
    const { replace } = rules
    const set = (change: Partial<typeof replace>) => onChange({ ...rules, replace: { ...replace, ...change } })
    return (
      <>
        <div className="rename-fields">
          <TextField {...field} label={texts.find} value={replace.find} onChange={find => set({ find })} />
          <TextField
            {...field}
            label={texts.replacement}
            value={replace.replacement}
            onChange={replacement => set({ replacement })}
          />
        </div>
        <Checkbox isSelected={replace.ignoresCase} onChange={ignoresCase => set({ ignoresCase })}>
          {texts.ignoreCase}
        </Checkbox>
      </>
    )
  }
  if (kind === 'number') {
    const { number } = rules
    const set = (change: Partial<typeof number>) => onChange({ ...rules, number: { ...number, ...change } })
    return (
      <div className="rename-fields">
        <TextField
          {...field}
          label={texts.pattern}
          description={texts.patternHelp('{n}', '{name}')}
          value={number.pattern}
          onChange={pattern => set({ pattern })}
        />
        <TextField
          {...field}
          label={texts.start}
          inputMode="numeric"
          value={String(number.start)}
          onChange={typed => set({ start: Math.min(maxStart, Number(typed.replace(/\D/g, '').slice(0, 6))) })}
        />
      </div>
    )
  }
  const { add } = rules
  const set = (change: Partial<typeof add>) => onChange({ ...rules, add: { ...add, ...change } })
  return (
    <div className="rename-fields">
      <TextField {...field} label={texts.before} value={add.before} onChange={before => set({ before })} />
      <TextField
        {...field}
        label={texts.after}
        description={texts.endingsStay}
        value={add.after}
        onChange={after => set({ after })}
      />
    </div>
  )
}
