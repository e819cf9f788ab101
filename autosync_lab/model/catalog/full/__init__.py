"""Published models at their true size."""
