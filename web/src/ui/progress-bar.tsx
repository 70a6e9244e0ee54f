interface ProgressBarProps {
  label: string
  /** From 0 to 100; null if it is unknown. */
  percent: number | null
  /** A CSS class for the color of the bar. */
  state?: string
}

export function ProgressBar({ label, percent, state = '' }: ProgressBarProps) {
  return (
    <div
      className="progress-track"
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      {...(percent !== null && { 'aria-valuenow': percent })}
    >
      <div className={`progress-fill ${state}`.trim()} style={{ width: `${percent ?? 0}%` }} />
    </div>
  )
}
