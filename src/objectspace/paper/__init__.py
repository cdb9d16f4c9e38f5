"""The paper, item by item: what each table and figure shows, made here, and set beside the paper's own numbers."""
