import { texts } from '../texts/start.ts'
import './steps.css'

/** The steps of a task in their order, and which of them is the present one. */
export function Steps({ label, steps, current }: { label: string; steps: readonly string[]; current: number }) {
  return (
    <ol className="steps" aria-label={label}>
      {steps.map((step, index) => (
        <li
          key={step}
          className={index < current ? 'done' : ''}
          {...(index === current && { 'aria-current': 'step' as const })}
        >
          <span aria-hidden="true">{index + 1}</span>
          {step}
        </li>
      ))}
    </ol>
  )
}

/** The steps of a new workspace, each on a page of its own: the account of the owner, the first storage, and the first files. */
export function StartSteps({ current }: { current: 0 | 1 | 2 }) {
  return <Steps label={texts.steps} steps={texts.stages} current={current} />
}
